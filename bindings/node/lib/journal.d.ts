/** A run of a journal. */
export interface RunRecord {
  id: string;
  /** `waiting` for an answer, or `interrupted`. */
  status: "running" | "waiting" | "interrupted" | "finished" | "unknown";
  created: Date;
  updated: Date;
  /** Replies of the model until now. */
  iterations: number;
  /** US dollars until now. */
  knownCost: number;
  /** The answer, if the run has ended. */
  answer: string | null;
  /** The open questions, as JSON. */
  questions: any[];
}

/** A file, in SQLite, in which runs are kept: what has finished is never executed again, whenever the process ends. */
export class Journal {
  /** Opens the file, or makes it. Throws `JournalError` if it is not a journal. */
  constructor(path: string);
  /** Returns all runs, those that were written to last first. */
  runs(): Promise<RunRecord[]>;
  /** Cancels a run, whether or not a process drives it. */
  cancel(runId: string): Promise<void>;
}
