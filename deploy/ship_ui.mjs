// Puts the built console where the server serves it from: config/ui/index.html is the page (the server fills its nonce
// in), config/ui/files is what lies at the site's root. Compressed copies beside the files: WhiteNoise sends them.
import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "frontend/dist");
const home = join(root, "config/ui");
const draft = `${home}.new`;
const compressible = /\.(js|css|svg|json|txt|map|webmanifest)$/;

rmSync(draft, { recursive: true, force: true });
mkdirSync(join(draft, "files/ui"), { recursive: true });
for (const name of readdirSync(dist)) {
  const target = name === "index.html" ? "index.html" : name === ".vite" ? "vite" : join("files/ui", name);
  cpSync(join(dist, name), join(draft, target), { recursive: true });
}
let [plain, packed] = [0, 0];
for (const name of readdirSync(join(draft, "files"), { recursive: true }).filter((name) => compressible.test(name))) {
  const file = join(draft, "files", name);
  const body = readFileSync(file);
  const br = brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } });
  writeFileSync(`${file}.br`, br);
  writeFileSync(`${file}.gz`, gzipSync(body, { level: 9 }));
  plain += body.length;
  packed += br.length;
}
rmSync(home, { recursive: true, force: true });
renameSync(draft, home);
console.log(`config/ui: ${Math.round(plain / 1000)} kB, sent as ${Math.round(packed / 1000)} kB`);
