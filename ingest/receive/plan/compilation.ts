/** What the compile thread makes of a plan document, or what is wrong with the document. */
export type CompileAnswer = Compilation | { fault: string };

export interface Compilation {
	/** JavaScript, {@link file://./packed-memory.ts packed}. */
	code: Uint8Array<SharedArrayBuffer>;
	/** With it another thread needn't read the code again; packed, too. */
	cache: Uint8Array<SharedArrayBuffer>;
	/** The header whose value is the event's type, in lower case; undefined if the type is elsewhere. */
	typeHeader: string | undefined;
}
