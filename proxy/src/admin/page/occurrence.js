// What an occurrence says of itself.

export const DISPLACED = new Set(["replaced", "withdrawn"]);
export const belongs = (data) => data.scope?.channel ?? data.scope?.featureSet ?? "";
export const kindOfScope = (data) => (data.scope?.channel !== undefined ? "channel" : data.scope ? "feature set" : "");
export const subjectOf = (data) => (data.subject === undefined ? data.id : `${data.producer}#${data.subject}`);
export const number = (data) => Number(data.id.slice(data.id.lastIndexOf("/") + 1));

/** A dead letter that was let go. */
export const isDropped = (data) => data.state === "dead-letter" && data.open === false;
