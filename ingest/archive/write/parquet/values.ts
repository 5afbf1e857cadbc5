/** Values in the encoding PLAIN. They are written where they are compressed, so that large ones are copied once. */
export interface Values {
	bytes: number;
	/** Writes so many bytes from `at` on. */
	writeTo(page: Buffer, at: number): void;
}

export function plain(bytes: Uint8Array): Values {
	return {
		bytes: bytes.length,
		writeTo: (page, at) => page.set(bytes, at),
	};
}

export function bytesOf(values: Values): Uint8Array {
	const bytes = Buffer.allocUnsafe(values.bytes);
	values.writeTo(bytes, 0);
	return bytes;
}

export const lengthBytes = 4;

/** Microseconds since the epoch as INT64, in the halves that JavaScript's numbers have. */
export function times(timesMs: readonly number[]): Values {
	return {
		bytes: 8 * timesMs.length,
		writeTo(page, start) {
			let at = start;
			for (const ms of timesMs) {
				const micros = ms * 1000;
				at = page.writeUInt32LE(micros % 2 ** 32, at);
				at = page.writeUInt32LE(Math.floor(micros / 2 ** 32), at);
			}
		},
	};
}

/** Each with its length before it. */
export function byteArrays(values: readonly Uint8Array[]): Values {
	return {
		bytes: values.reduce((sum, { length }) => sum + lengthBytes + length, 0),
		writeTo(page, start) {
			let at = start;
			for (const value of values) {
				at = page.writeUInt32LE(value.length, at);
				page.set(value, at);
				at += value.length;
			}
		},
	};
}

const uuidBytes = 36;
const hyphen = "-".charCodeAt(0);
const hexDigits = Buffer.from("0123456789abcdef");

/** RFC 9562 §4: 8-4-4-4-12 digits. */
export function uuidTexts(ids: readonly Uint8Array[]): Values {
	return {
		bytes: ids.length * (lengthBytes + uuidBytes),
		writeTo(page, start) {
			let at = start;
			for (const id of ids) {
				at = page.writeUInt32LE(uuidBytes, at);
				for (let index = 0; index < id.length; index++) {
					if (index === 4 || index === 6 || index === 8 || index === 10)
						page[at++] = hyphen;
					const byte = id[index]!;
					page[at++] = hexDigits[byte >> 4]!;
					page[at++] = hexDigits[byte & 15]!;
				}
			}
		},
	};
}
