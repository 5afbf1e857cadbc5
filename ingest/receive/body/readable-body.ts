import type { LongWork } from "../admission/long-work.ts";
import type { AcceptedHead } from "../request/request-head.ts";
import type { SignedBody } from "../request/signed-string.ts";
import { textAt } from "../text/json-pointer.ts";
import { inOneBuffer } from "./body-parts.ts";
import { jsonText } from "./request-body.ts";

/** A body in which a signature's parts are looked up before its sender is known. */
export class ReadableBody implements SignedBody {
	/** There was no room in receive's memory to read it. */
	isRefused = false;
	readonly parts: readonly Buffer[];
	readonly #head: Pick<AcceptedHead, "kind" | "form">;
	readonly #take: (bytes: number) => boolean;
	/** The JSON text of the body; undefined until it is needed, empty if it has none. */
	#json: Uint8Array | undefined;

	/** @param take takes bytes of receive's memory; false when there is no room. */
	constructor(
		head: Pick<AcceptedHead, "kind" | "form">,
		parts: readonly Buffer[],
		take: (bytes: number) => boolean,
	) {
		this.#head = head;
		this.parts = parts;
		this.#take = take;
	}

	*textAt(pointer: string): LongWork<string | undefined> {
		this.#json ??= yield* this.#read();
		return yield* textAt(pointer, this.#json);
	}

	*#read(): LongWork<Uint8Array> {
		const { kind, form } = this.#head;
		const text = yield* jsonText(kind, this.parts, this.#take, form);
		const json = "status" in text ? text : inOneBuffer(text.parts, this.#take);
		if (!("status" in json)) return json;
		this.isRefused = json.status === 503;
		return none;
	}
}

const none = Buffer.alloc(0);
