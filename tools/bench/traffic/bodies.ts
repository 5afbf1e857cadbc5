import { githubPayloads } from "../../../test/support/examples/github-payloads.ts";
import { randomOf } from "../../../test/support/seeded-random.ts";

const random = randomOf(1);
const syllables = "ka lo mi re tun sha ver el do pri sten or ba qui na".split(
	" ",
);
const words = Array.from({ length: 3_000 }, () =>
	Array.from({ length: 1 + at(3) }, () => syllables[at(15)]).join(""),
);
/** All bodies together are larger than a processor's cache and than what a frame holds. */
const allBytes = 8 * 1024 * 1024;

/**
 * Different bodies of exactly so many bytes: an event as Stripe sends it, with as many lines of an invoice as it takes. Ids,
 * amounts and words are random, so that the bodies of a frame don't compress each other away.
 */
export function bodiesOf(bytes: number): string[] {
	const count = Math.min(1_024, Math.max(16, Math.floor(allBytes / bytes)));
	return Array.from({ length: count }, () => invoice(bytes));
}

/** Different lists of about so many bytes: GitHub's webhooks with other ids. Zstd makes them ten times smaller than invoices. */
export function githubLists(bytes: number): string[] {
	const count = Math.max(16, Math.floor(allBytes / bytes));
	let events: string[] = [];
	return Array.from({ length: count }, () => {
		let list = "[";
		for (;;) {
			if (events.length === 0) events = githubBodies();
			const body = events.pop()!;
			if (list.length + body.length + 4 > bytes) break;
			list += `${body},`;
		}
		const rest = bytes - list.length - 3;
		return `${list}"${text(rest).slice(0, rest)}"]`;
	});
}

/** GitHub's real webhooks (@octokit/webhooks-examples) a few times, each with other ids and digests. */
export function githubBodies(): string[] {
	const payloads = githubPayloads().map(({ value }) => JSON.stringify(value));
	return [payloads, payloads, payloads]
		.flat()
		.map((body) =>
			body.replace(/\b(?:\d{5,}|[0-9a-f]{16,})\b/g, (id) =>
				/\D/.test(id) ? hex(id.length) : digits(id.length),
			),
		);
}

function invoice(bytes: number): string {
	const lines: object[] = [];
	const event = {
		id: `evt_${hex(24)}`,
		object: "event",
		api_version: "2025-09-30",
		created: 1_790_000_000 + at(1e6),
		type: "invoice.paid",
		livemode: true,
		data: {
			id: `in_${hex(24)}`,
			customer: `cus_${hex(14)}`,
			customer_email: `${text(1)}.${text(1)}@example.com`,
			currency: "eur",
			amount_paid: at(1e5),
			lines,
			description: "",
		},
	};
	let length = JSON.stringify(event).length;
	for (;;) {
		const line = {
			id: `il_${hex(24)}`,
			amount: at(1e5),
			currency: "eur",
			description: text(4 + at(12)),
			price: `price_${hex(14)}`,
			quantity: 1 + at(9),
			proration: random() < 0.5,
		};
		length += JSON.stringify(line).length + 1;
		if (length > bytes) break;
		lines.push(line);
	}
	const rest = bytes - JSON.stringify(event).length;
	event.data.description = text(rest).slice(0, rest);
	return JSON.stringify(event);
}

/** Some words are more frequent than others. */
function text(count: number): string {
	return Array.from(
		{ length: count },
		() => words[Math.floor(random() ** 2 * words.length)],
	).join(" ");
}

function hex(length: number): string {
	let made = "";
	while (made.length < length) made += at(2 ** 32).toString(16);
	return made.slice(0, length);
}

function digits(length: number): string {
	return Array.from({ length }, () => 1 + at(9)).join("");
}

function at(length: number): number {
	return Math.floor(random() * length);
}
