export const reading = {
  measured: "Measured",
  estimated: "Estimated",
  stale: "Old value",
  unavailable: "Not available",
  age: "{quality}, {age}",
  unavailable_why: "n/a: the device or its driver does not report this.",
  stale_why: "Old value: nothing newer was reported.",
  estimated_why: "Estimated, not measured.",
  limit: "limit",
  used_of: "{used} of {limit}",
  chart_empty: "No values yet",
} as const;
