/** Changes bytes as damage or an attacker would: single bytes, length fields, a missing end, parts that repeat. */
export function mutated(bytes: Buffer, random: () => number): Buffer {
	let result: Buffer = Buffer.from(bytes);
	const place = () => Math.floor(random() * result.length);
	for (let steps = 1 + random() * 3; steps > 0; steps--)
		switch (Math.floor(random() * 5)) {
			case 0:
				if (result.length > 0) result[place()] = Math.floor(random() * 256);
				break;
			case 1:
				if (result.length > 0) result[place()]! ^= 1 << (random() * 8);
				break;
			case 2: {
				const edges = [0, 1, 0x7f, 0x80, 0xff];
				const at = place();
				result
					.subarray(at, at + random() * 5)
					.fill(edges[Math.floor(random() * 5)]!);
				break;
			}
			case 3:
				result = result.subarray(0, place());
				break;
			default: {
				const [from, to, at] = [place(), place(), place()];
				const part = result.subarray(Math.min(from, to), Math.max(from, to));
				result = Buffer.concat([
					result.subarray(0, at),
					part,
					result.subarray(at),
				]);
			}
		}
	return result;
}

/** What nobody expects in a JSON document. */
const oddities = [
	null,
	true,
	-1,
	1.5,
	1e308,
	"",
	"x",
	"7",
	"../../etc/passwd",
	"9999-99-99",
	[],
	{},
	[[]],
	[null],
];

/** Replaces, removes or repeats one value of a JSON document. */
export function mutatedJSON(document: unknown, random: () => number): unknown {
	const pick = <T>(from: readonly T[]) =>
		from[Math.floor(random() * from.length)]!;
	const copy: unknown = structuredClone(document);
	let node = copy;
	for (;;) {
		if (typeof node !== "object" || node === null) return pick(oddities);
		const keys = Object.keys(node);
		if (keys.length === 0) return pick(oddities);
		const holder = node as Record<string, unknown>;
		const key = pick(keys);
		const inner = holder[key];
		if (typeof inner === "object" && inner !== null && random() < 0.7) {
			node = inner;
			continue;
		}
		const action = random();
		if (action < 0.6) holder[key] = pick(oddities);
		else if (action < 0.8) delete holder[key];
		else if (Array.isArray(node)) node.push(inner);
		else holder[pick(keys)] = inner;
		return copy;
	}
}
