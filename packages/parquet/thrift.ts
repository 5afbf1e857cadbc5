/** Types of Thrift's compact protocol (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md). */
const typeOf = { true: 1, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 };

/** A struct in Thrift's compact protocol, which Parquet's metadata is in. Its numbers aren't negative. */
export class ThriftStruct {
	readonly #bytes: number[] = [];
	#lastField = 0;

	i32(field: number, value: number): this {
		return this.#field(field, "i32").#number(value);
	}

	i64(field: number, value: number): this {
		return this.#field(field, "i64").#number(value);
	}

	true(field: number): this {
		return this.#field(field, "true");
	}

	binary(field: number, value: Uint8Array | string): this {
		return this.#field(field, "binary").#binary(value);
	}

	struct(field: number, value: ThriftStruct): this {
		return this.#field(field, "struct").#push(value.end());
	}

	i32s(field: number, values: readonly number[]): this {
		this.#list(field, "i32", values.length);
		for (const value of values) this.#number(value);
		return this;
	}

	texts(field: number, values: readonly string[]): this {
		this.#list(field, "binary", values.length);
		for (const value of values) this.#binary(value);
		return this;
	}

	structs(field: number, values: readonly ThriftStruct[]): this {
		this.#list(field, "struct", values.length);
		for (const value of values) this.#push(value.end());
		return this;
	}

	/** The struct's bytes. Nothing can be added afterwards. */
	end(): readonly number[] {
		this.#bytes.push(0);
		return this.#bytes;
	}

	/** Fields come in the order of their ids, none more than 15 after the one before. */
	#field(field: number, type: keyof typeof typeOf): this {
		this.#bytes.push(((field - this.#lastField) << 4) | typeOf[type]);
		this.#lastField = field;
		return this;
	}

	#list(field: number, type: keyof typeof typeOf, length: number): void {
		this.#field(field, "list");
		if (length < 15) this.#bytes.push((length << 4) | typeOf[type]);
		else {
			this.#bytes.push(0xf0 | typeOf[type]);
			varint(this.#bytes, length);
		}
	}

	/** Zigzag: twice the number, since it isn't negative. */
	#number(value: number): this {
		varint(this.#bytes, 2 * value);
		return this;
	}

	#binary(value: Uint8Array | string): this {
		const bytes = Buffer.from(value);
		varint(this.#bytes, bytes.length);
		return this.#push(bytes);
	}

	#push(bytes: Iterable<number>): this {
		for (const byte of bytes) this.#bytes.push(byte);
		return this;
	}
}

/** Appends a number, up to 2^53, in groups of seven bits, the lowest first. */
export function varint(bytes: number[], value: number): void {
	let rest = value;
	for (; rest >= 0x80; rest = Math.floor(rest / 0x80))
		bytes.push((rest % 0x80) | 0x80);
	bytes.push(rest);
}
