export const confirm = {
  title: "{action}: {name}?",
  loses: "What is lost",
  bills: "What is billed",
  type_name: "Type {name} to confirm",
  keep: "Keep it",
} as const;
