// What the first page loads, gzipped, against the budget of 200 kB. Run after `npm run build`.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET = 200_000;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));

/** The chunk, what it imports statically, and their style sheets. */
function closure(key, files = new Set()) {
  const chunk = manifest[key];
  if (files.has(chunk.file)) return files;
  files.add(chunk.file);
  for (const css of chunk.css ?? []) files.add(css);
  for (const next of chunk.imports ?? []) closure(next, files);
  return files;
}

const size = (file) => gzipSync(readFileSync(new URL(file, dist))).length;
const total = (files) => [...files].reduce((sum, file) => sum + size(file), 0);
const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const initial = closure(entry);
const rows = Object.entries(manifest)
  .filter(([, chunk]) => chunk.isDynamicEntry)
  .map(([key]) => [key, total([...closure(key)].filter((file) => !initial.has(file)))]);

console.log(`entry  ${total(initial)} bytes gz in ${initial.size} files (budget ${BUDGET} with the first page and its words)`);
// The first page needs its own chunk and the words of one language too.
const worst = { page: 0, words: 0 };
for (const [key, own] of rows.sort((a, b) => b[1] - a[1])) {
  console.log(`  + ${String(own).padStart(7)}  ${key}`);
  if (/(home|login)-page/.test(key)) worst.page = Math.max(worst.page, own);
  if (/i18n\/\w+\/catalog/.test(key)) worst.words = Math.max(worst.words, own);
}
const first = total(initial) + worst.page + worst.words;
console.log(`first page  ${first} bytes gz`);
if (first > BUDGET) {
  console.error("The first page is over its budget.");
  process.exit(1);
}
