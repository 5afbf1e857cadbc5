/** Python's keywords (Python language reference §2.3.1). */
const keywords = new Set(
	"False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
		" ",
	),
);

/** Whether Python takes the text as a name. */
export function isPythonName(text: string): boolean {
	return /^[A-Za-z_]\w*$/.test(text) && !keywords.has(text);
}
