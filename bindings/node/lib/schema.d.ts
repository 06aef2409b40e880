/** A JSON Schema. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** A Standard Schema (standardschema.dev), such as those of zod, Valibot and ArkType. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What the check of a Standard Schema gives. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<{ readonly message: string; readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined }> };

/** The values of a schema; of a JSON Schema, whatever the caller says. */
export type Infer<S, Otherwise = Record<string, unknown>> = S extends StandardSchema<infer _Input, infer Output> ? Output : Otherwise;
