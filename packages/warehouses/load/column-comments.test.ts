import { expect, test } from "vitest";
import type { TableColumn } from "../../contracts/job.ts";
import { allComments, missingComments } from "./columns.ts";

const id: TableColumn = { name: "event_id", from: "EventID" };
const fromBody = (bodyPointer: string): TableColumn => ({
	name: "amount",
	from: { bodyPointer, type: "Integer" },
});
const topic: TableColumn = {
	name: "header_x_topic",
	from: { header: "x-topic" },
};
const all = [id, fromBody("/a"), topic];

test("a new table's columns say what they hold", () => {
	expect(missingComments(all)).toEqual([
		{ name: "event_id", comment: "The event's id, unique in the table." },
		{
			name: "amount",
			comment:
				"/a of the body, as Integer. NULL if it is missing or doesn't fit.",
		},
		{
			name: "header_x_topic",
			comment: "The header x-topic of the request.",
		},
	]);
	const description = "Why.";
	expect(missingComments([{ ...id, description }])).toEqual([
		{ name: "event_id", comment: description },
	]);
});

test("only what is missing or no longer true is written, and never over people's words", () => {
	const written = missingComments(all);
	expect(missingComments(all, written)).toEqual([]);
	expect(missingComments([id, fromBody("/b"), topic], written)).toEqual([
		{ name: "amount", comment: expect.stringMatching(/^\/b of the body/) },
	]);
	const theirs = written.map(({ name }) => ({ name, comment: "Ours." }));
	expect(missingComments([id, fromBody("/b"), topic], theirs)).toEqual([]);
	const none = [
		{ name: "EVENT_ID", comment: null },
		{ name: "amount", comment: "" },
		{ name: "header_x_topic", comment: "Ours." },
	];
	expect(missingComments(all, none)).toEqual(written.slice(0, 2));
	expect(allComments(all, none)).toEqual([
		...written.slice(0, 2),
		{ name: "header_x_topic", comment: "Ours." },
	]);
	expect(allComments(all)).toEqual(written);
});
