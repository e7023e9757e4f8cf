/** What no waiting mends: a device of another sort would have to come. */
export const NEVER: ReadonlySet<string> = new Set([
  "impossible_shape",
  "other_device",
  "other_kind",
  "other_model",
  "other_pool",
  "other_site",
  "isolation",
  "larger_than_device",
]);
