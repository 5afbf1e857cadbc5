import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { createLog } from "../../packages/service/log.ts";
import { askArchiveForEvents } from "./archive-question.ts";

const question = { account: "shop", sourceKeys: ["5a".repeat(16)], id: "1" };

function ask(...messages: string[]) {
	const connection = {
		requestMany: async () =>
			messages.map((each) => ({ data: Buffer.from(each) }) as unknown as Msg),
	} as unknown as NatsConnection;
	return askArchiveForEvents(() => connection, createLog("test"))(0, question);
}

test("an answer comes after notices, and a body that looks like one is a body", async () => {
	const body = '{"working":true}';
	const answer = { ok: true, searched: {} };
	const said = await ask(body, `${JSON.stringify(answer)}\n${body}`);
	expect(said).toMatchObject({ answer });
	expect(said.body?.toString()).toBe(body);
});

test("archive that says only that it works is silent", async () => {
	await expect(ask('{"working":true}')).rejects.toMatchObject({
		message: expect.stringContaining("silent"),
	});
});
