// What an occurrence says of itself.

const DISPLACED = new Set(["replaced", "withdrawn"]);
/** It withdrew another, or found nothing to: it was never to be handed over. */
export const isWithdrawal = (data) =>
  data.state === "withdrawn" && !data.withdrawnBy && ["retracted", "consumed"].includes(data.coalesce?.outcome);
/** Another kept it from the host. */
export const isDisplaced = (data) => DISPLACED.has(data.state) && !isWithdrawal(data);
export const belongs = (data) => data.scope?.channel ?? data.scope?.featureSet ?? "";
export const kindOfScope = (data) => (data.scope?.channel !== undefined ? "channel" : data.scope ? "feature set" : "");
export const subjectOf = (data) => (data.subject === undefined ? data.id : `${data.producer}#${data.subject}`);
export const number = (data) => Number(data.id.slice(data.id.lastIndexOf("/") + 1));

/** A dead letter that was let go. */
export const isDropped = (data) => data.state === "dead-letter" && data.open === false;
