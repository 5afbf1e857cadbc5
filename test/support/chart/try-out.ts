import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { documentedText } from "../examples/documented.ts";

/* The first installation as docs/install.md has it, read from there. */

const page = readFileSync(
	join(import.meta.dirname, "../../../docs/install.md"),
	"utf8",
);
const [, section = ""] = /^## Try it out\n(.*?)^## /ms.exec(page)!;
const text = documentedText("docs/install.md#try-it-out yaml");
const [command = ""] =
	/^helm install .*$/m.exec(
		documentedText("docs/install.md#try-it-out sh 1"),
	) ?? [];
const values = join(mkdtempSync(join(tmpdir(), "try-out-")), "try-out.yaml");
writeFileSync(values, text);

export const tryOut = {
	section,
	/** The values that people write into a file, and the file. */
	text,
	values,
	/** `helm install …`, by its words. */
	command: command.split(" "),
};
