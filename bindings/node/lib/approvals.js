// Approvals: which calls run, and who decides about the others.

const FIELDS = ["rules", "approve", "unattended", "inStream"];

/** The options of an agent for its approvals, and its approver. */
export function approving(approvals) {
  if (approvals === undefined) return { options: {} };
  if (approvals === "off") return { options: { approvals: "off" } };
  const given = typeof approvals === "function" ? { approve: approvals } : approvals;
  if (typeof given !== "object" || given === null) throw new TypeError('approvals are "off", a function, or an object with `rules` and `approve`');
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw new TypeError(`approvals have no option ${unknown}`);
  const { rules = [], approve, unattended, inStream = false } = given;
  return { options: { approvals: approve || inStream ? "ask" : "deny", rules, unattended }, approve };
}

/** An answer for the native part. */
export function encodeAnswer(answer) {
  if (answer === true) return ["once"];
  if (answer === false) return ["no"];
  if (answer === "pending") return ["pending"];
  if (typeof answer?.allow === "string") return ["session", answer.allow];
  if (typeof answer?.deny === "string") return ["no", answer.deny];
  throw new TypeError(`an approver returns true, false, { allow: rule }, { deny: reason } or "pending", not ${JSON.stringify(answer)}`);
}

/** An approval, of its JSON. */
export function approvalOf({ approval: id, ...fields }) {
  return { id, ...fields, notes: fields.notes ?? [] };
}
