import { expect, test } from "vitest";
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
