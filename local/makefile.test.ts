import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const text = readFileSync(join(import.meta.dirname, "../Makefile"), "utf8");

// macOS has make 3.81. The NEWS of GNU make says what came later.
test.each<[string, RegExp]>([
	["3.82: .ONESHELL, .RECIPEPREFIX", /^\.(ONESHELL|RECIPEPREFIX)/m],
	["3.82: private and undefine", /^(private|undefine) /m],
	["4.0: != and ::=", /^[\w.]+ *(!=|::=)/m],
	["4.0: $(file) and $(guile)", /\$\((file|guile) /],
	["4.0: --trace", /--trace/],
	["4.3: grouped targets", /^[^\t#\n]*&:/m],
	["4.4: $(let) and $(intcmp)", /\$\((let|intcmp) /],
])("the Makefile has nothing of make %s", (_version, pattern) => {
	expect(text).not.toMatch(pattern);
});

test("what make 4.0 can is asked for only where make says that it can", () => {
	for (const line of text.split("\n"))
		if (line.includes("output-sync"))
			expect(line).toContain("$(if $(filter output-sync,$(.FEATURES)),");
});
