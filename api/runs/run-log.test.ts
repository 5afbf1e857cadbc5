import { expect, test } from "vitest";
import { progressIn } from "./run-log.ts";

const line = (daysDone: number) =>
	JSON.stringify({
		level: "info",
		daysDone,
		daysTotal: 3,
		rowsDone: daysDone * 10,
		rowsTotal: 30,
		msg: "loading days",
	});

test("progress comes from the last complete line that reports it", () => {
	const log = [line(1), line(2), "not JSON", '{"msg":"other"}'].join("\n");
	expect(progressIn(log)).toEqual({
		daysDone: 2,
		daysTotal: 3,
		rowsDone: 20,
		rowsTotal: 30,
	});
	expect(progressIn(`${log}\n${line(3).slice(0, -9)}`)?.daysDone).toBe(2);
});

test.each(["", '{"daysDone":"1"}', '{"daysDone":1}', '"daysDone"'])(
	"%j reports no progress",
	(log) => {
		expect(progressIn(log)).toBeUndefined();
	},
);
