import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";

test.each(["<html>Bad Gateway</html>", null])(
	"a proxy's answer %j is reported by its status",
	async (page) => {
		const server = await apiserver((request) =>
			request.startsWith("POST")
				? [502, page]
				: [200, { status: { webhookURL: `${server.url}/hooks/a` } }],
		);
		const words = ["events", "send", "shop", "--data", "{}", ...server.args];
		const { exitCode, stderr } = await tidemill(...words);
		expect(stderr).toContain(
			"tidemill events send: the webhook URL answered 502\n",
		);
		expect(exitCode).toBe(1);
	},
);

test("of a Source with an answer of its own, the event's id is printed from the header", async () => {
	const receiver = createServer((request, response) => {
		request.resume();
		response.writeHead(204, { "tidemill-event-id": "e-1" }).end();
	}).listen(0, "127.0.0.1");
	onTestFinished(() => void receiver.close());
	await once(receiver, "listening");
	const { port } = receiver.address() as AddressInfo;
	const webhookURL = `http://127.0.0.1:${port}/hooks/a`;
	const server = await apiserver(() => [200, { status: { webhookURL } }]);
	const words = ["events", "send", "shop", "--data", "{}", ...server.args];
	expect(await tidemill(...words)).toMatchObject({
		exitCode: 0,
		stdout: "e-1\n",
	});
});

test("the token of a Source's Secret is sent, if the person may read it", async () => {
	const sent: unknown[] = [];
	const secretRef = { name: "shop-token", key: "token" };
	const answers = async (
		isAllowed: boolean,
		labels: object = { "tidemill.dev/use": "true" },
	) => {
		const server = await apiserver((request, _, headers) => {
			if (request.startsWith("POST")) sent.push(headers.authorization);
			if (request.startsWith("POST")) return [200, { event_id: "e-1" }];
			if (!request.includes("/secrets/"))
				return [
					200,
					{
						spec: {
							webhook: { authorization: { customToken: { secretRef } } },
						},
						status: { webhookURL: `${server.url}/hooks/a` },
					},
				];
			return isAllowed
				? [200, { metadata: { labels }, data: { token: btoa("a-token") } }]
				: [403, { kind: "Status", reason: "Forbidden", code: 403 }];
		});
		const words = ["events", "send", "shop", "--data", "{}", ...server.args];
		return (await tidemill(...words)).stderr;
	};
	await answers(true);
	await answers(false);
	// An editor chose the Secret: one without the label may be anything.
	expect(await answers(true, {})).toContain("lacks the label");
	expect(sent).toEqual(["Bearer a-token", undefined]);
});
