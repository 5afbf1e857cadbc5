import { expect, test } from "vitest";
import { eventIdIn } from "./event-id.ts";

const id = "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11";

test.each([
	id,
	`  ${id.toUpperCase()}\n`,
	`{"is_success":true,"event_id":"${id}"}`,
	`event ${id} came`,
])("%j has an event id", (text) => {
	expect(eventIdIn(text)).toBe(id);
});

test.each(["", "orders", `${id}0`, id.slice(1), "<img src=x>"])(
	"%j has none",
	(text) => {
		expect(eventIdIn(text)).toBeUndefined();
	},
);
