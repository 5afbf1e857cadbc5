import { controls } from "./controls.ts";

/** `make controls LIST=1`: each promise that is broken on purpose, and the file of `make test` that must turn red. */
for (const { name, file, seenBy } of controls) {
	console.log(`${name}\n    broken in  ${file}\n    seen by    ${seenBy.file}`);
	if (seenBy.race !== undefined) console.log(`    only there ${seenBy.race}`);
}
