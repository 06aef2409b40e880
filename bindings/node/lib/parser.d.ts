import type { Anchoring, Markers } from "./blocks.js";
import type { AnyGadget, GadgetSpec } from "./gadget.js";

export * from "./blocks.js";

/** The text for the system message that describes gadgets and how to call them. */
export function instructions(
  gadgets: ReadonlyArray<AnyGadget | GadgetSpec>,
  options?: { form?: "block" | "json" | undefined; markers?: Markers | undefined; anchoring?: Anchoring | undefined },
): string;
