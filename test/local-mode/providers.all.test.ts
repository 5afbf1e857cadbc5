// In make test: test/promises/you-are-told.laptop.test.ts
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sign } from "@octokit/webhooks-methods";
import Stripe from "stripe";
import { beforeAll, describe, expect, test } from "vitest";
import { documented } from "../support/examples/documented.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import { send, untilKnown } from "../support/senders/http-client.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* From a provider's SDK as the sender to a row, by the folders of examples/ and by the command line alone. */

const queries = documented("examples/{stripe,github,shopify,form}/query.sql");
const secretCommands = documented("examples/{stripe,github,shopify}/*.yaml sh");
const secret = "whsec_0123456789abcdefghij";
const stripe = new Stripe("sk_test_none");

interface Delivery {
	headers: Record<string, string>;
	body: string;
}

const stripeEvent: Delivery = (() => {
	const body = JSON.stringify({
		...{ id: "evt_1", object: "event", type: "payment_intent.succeeded" },
		data: { object: { amount: 1999, currency: "eur" } },
	});
	return json(body, {
		"stripe-signature": stripe.webhooks.generateTestHeaderString({
			payload: body,
			secret,
		}),
	});
})();

const deliveries: Record<string, () => Promise<Delivery>> = {
	stripe: async () => stripeEvent,
	github: async () => {
		const body = JSON.stringify({
			action: "opened",
			repository: { full_name: "acme/shop" },
			sender: { login: "ada" },
		});
		return json(body, {
			"x-github-event": "issues",
			"x-github-delivery": "7e1f",
			"x-hub-signature-256": await sign(secret, body),
		});
	},
	shopify: async () => {
		const body = '{"id":1,"total_price":"19.90","currency":"EUR"}';
		return json(body, {
			"x-shopify-topic": "orders/create",
			"x-shopify-event-id": "e-1",
			"x-shopify-hmac-sha256": createHmac("sha256", secret)
				.update(body)
				.digest("base64"),
		});
	},
	form: async () => ({
		headers: { "content-type": "application/x-www-form-urlencoded" },
		body: "name=Ada&email=ada%40example.com&message=Hello",
	}),
};

function json(body: string, headers: Record<string, string>): Delivery {
	return { headers: { "content-type": "application/json", ...headers }, body };
}

let local: LocalMode;

beforeAll(async () => {
	local = await openLocalMode("providers");
});

describe.each(Object.keys(deliveries))("examples/%s", (name) => {
	test("ends in a query with the provider's event", async () => {
		const folder = `examples/${name}`;
		await local.run("kubectl", "apply", "-f", `${folder}/${name}.yaml`);
		if (name !== "form")
			await local.run(
				...[
					"bash",
					"-c",
					`echo "$0" | ${secretCommands.find(({ page }) => page.startsWith(folder))!.text}`,
				],
				secret,
			);
		await local.run(
			...["kubectl", "wait", "--for=condition=Ready", "--timeout=120s"],
			...[`source/${name}`, "destination/warehouse", `pipeline/${name}`],
		);
		const url = await urlOf(name);
		await untilKnown(url);
		const { status, json } = await send(url, await deliveries[name]!());
		expect([status, json]).toMatchObject([200, { is_success: true }]);
		await local.run("tidemill", "pipelines", "run", name, "--wait");
		const { text: query } = queries.find(
			({ page }) => page === `${folder}/query.sql`,
		)!;
		const rows = await local.run(
			...["tidemill", "sql", "-d", "warehouse", "-o", "json", query],
		);
		expect(JSON.parse(rows)).toMatchObject(expected[name]!);
	});
});

const expected: Record<string, object> = {
	stripe: { currency: "eur", payments: 1, total: 19.99 },
	github: { repository: "acme/shop", event: "issues", sender: "ada" },
	shopify: { currency: "EUR", orders: 1, total: "19.90" },
	form: { name: "Ada", email: "ada@example.com", message: "Hello" },
};

test("four commands lead from a provider's SDK to a row", async () => {
	const folder = await passingDirectory("four-commands");
	writeFileSync(join(folder, "secret"), `${secret}\n`);
	const commands = `
tidemill sources create pay --provider stripe --secret-stdin --wait < "$0/secret" > "$0/said"
tidemill destinations create lake --duckdb lake.duckdb --wait
tidemill pipelines create payments --source pay --destination lake --every 15m --body-column amount=/data/object/amount:integer --set table.columns=EventID,Date --wait`;
	await local.run("bash", "-euc", commands, folder);
	const said = readFileSync(join(folder, "said"), "utf8").trim().split("\n");
	expect(said[0]).toBe("source/pay created");
	expect(said[1]).toBe(await urlOf("pay"));
	const forged = { ...stripeEvent, body: `${stripeEvent.body} ` };
	expect((await send(said[1]!, forged)).status).toBe(401);
	const { json } = await send(said[1]!, stripeEvent);
	const repeated = await send(said[1]!, stripeEvent);
	expect(repeated.json.event_id).toBe(json.event_id);
	await local.run("tidemill", "pipelines", "run", "payments", "--wait");
	const query = "select event_id, amount from payments";
	expect(
		JSON.parse(
			await local.run("tidemill", "sql", "-d", "lake", "-o", "json", query),
		),
	).toEqual({ event_id: json.event_id, amount: 1999 });
});

test("a source whose provider shows the secret only later has its URL before", async () => {
	const said = await local.run(
		...[
			"bash",
			"-euc",
			"tidemill sources create late --provider github --wait 2>&1 < /dev/null",
		],
	);
	const url = await urlOf("late");
	expect(said).toContain(`${url}\n`);
	expect(said).toContain(
		"tidemill sources set-secret late --secret-stdin -n providers",
	);
	expect((await send(url, await deliveries.github!())).status).not.toBe(200);
	await local.run(
		"bash",
		"-c",
		'echo "$0" | tidemill sources set-secret late --secret-stdin',
		secret,
	);
	await local.run(
		...[
			"kubectl",
			"wait",
			"--for=condition=Ready",
			"--timeout=120s",
			"source/late",
		],
	);
	expect(
		await local
			.run(
				"bash",
				"-c",
				"echo | tidemill sources create none --provider github --secret-stdin",
			)
			.catch((error) => error.stderr),
	).toContain("the secret from standard input is empty");
});

async function urlOf(source: string): Promise<string> {
	return local.run(
		...["kubectl", "get", "source", source],
		...["-o", "jsonpath={.status.webhookURL}"],
	);
}
