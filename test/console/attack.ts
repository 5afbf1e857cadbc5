import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { expect, vi } from "vitest";
import {
	destinationKind,
	pipelineKind,
	type Run,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import type { LocalMode } from "../support/servers/local-mode.ts";
import { aWhile } from "./browser.ts";
import { applySourceAndDestination } from "./shop.ts";

/** What a page shows of {@link attack} if it is a text: as it stands, also in JSON and in a JSON Pointer. */
export const tag = "<img data-xss src=x onerror=complain(2)>";
/** The same of its last word, which a browser would show as exe.png without a sign of it. */
export const turned = "\\u202egnp.exe";

/**
 * What strangers write: a link that is a script, an end of what may be around it, a script, elements that run one by themselves,
 * and a character that turns the reading (U+202E). Each script that ran would complain, each element would have `data-xss`.
 */
export const attack = `javascript:complain(0)//"'></title><script data-xss>complain(1)</script>${tag}<svg data-xss onload=complain(3)>\u202Egnp.exe`;

/** In the page: what is left of an attack anywhere, also in the editors. None of it may be there. */
const inPage = `(() => {
	const left = [];
	const hidden = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]/;
	const look = (root) => {
		for (const element of root.querySelectorAll("*")) {
			const { tagName, textContent, shadowRoot } = element;
			if (element.hasAttribute("data-xss")) left.push("element " + element.outerHTML);
			for (const name of ["href", "src", "action", "formaction"])
				if (/^\\s*javascript:/i.test(element.getAttribute(name) ?? "")) left.push(name + " of " + element.outerHTML);
			for (const name of ["title", "aria-label", "placeholder", "data-title"])
				if (hidden.test(element.getAttribute(name) ?? "")) left.push(name + " turns " + element.outerHTML);
			const isShown = !["SCRIPT", "STYLE"].includes(tagName) && element.childElementCount === 0;
			if (isShown && hidden.test(textContent)) left.push("turns " + element.outerHTML);
			if (shadowRoot) look(shadowRoot);
		}
	};
	look(document);
	if (hidden.test(document.title)) left.push("turns the title");
	return left;
})()`;

export function leftOfAttack(page: Page): Promise<string[]> {
	return page.evaluate(inPage) as Promise<string[]>;
}

/** A namespace in which strangers have written their attack wherever they can. */
export interface AttackedShop {
	/** Each has the attack as its type, in its body and in a header. */
	planned: string;
	quarantined: string;
	/** It has ended. The attack is wherever a warehouse's words may be. */
	run: string;
	/** Sends another event with the attack. */
	sendEvent(): Promise<string>;
	stop(): void;
}

export async function attackShop(
	session: Parameters<typeof applySourceAndDestination>[0],
): Promise<AttackedShop> {
	const { local } = session;
	const warehouse = await hostileWarehouse();
	await applySourceAndDestination(session);
	await applyAttacked(local, warehouse.url);
	await local.run(
		...(["kubectl", "wait", "--for=condition=PlanCurrent"] as const),
		...["--timeout=120s", "source/strange"],
	);
	await local.run(
		...(["kubectl", "wait", "--for=condition=Ready"] as const),
		...["--timeout=120s", "source/strange"],
		...Object.keys(tables).map((name) => `pipeline/${name}`),
	);
	const { status } = await local.resource<{ status: { webhookURL: string } }>(
		...(["get", "source", "strange"] as const),
	);
	const post = async (type: string): Promise<string> => {
		const body = { type, id: "not a number", [attack]: attack };
		// A plan is compiled anew on a machine that gave it no time, and until then the answer is 503: senders send again.
		return vi.waitFor(async () => {
			const answer = await send(status.webhookURL, JSON.stringify(body));
			expect(answer.status).toBe(200);
			return ((await answer.json()) as { event_id: string }).event_id;
		}, aWhile);
	};
	// What is no JSON is refused once receive has the plan.
	await vi.waitFor(
		async () =>
			expect((await send(status.webhookURL, attack)).status).toBe(400),
		{ timeout: 60_000 },
	);
	const planned = await post(attack);
	const quarantined = await post(`unplanned ${attack}`);
	for (const name of Object.keys(tables))
		await local.run("tidemill", "pipelines", "run", name, "--wait");
	return {
		...{ planned, quarantined },
		run: await attackRun(local),
		sendEvent: () => post(attack),
		stop: warehouse.stop,
	};
}

/** With the attack in a header, as the bytes that a program would send. */
function send(url: string, body: string): Promise<Response> {
	const note = Buffer.from(attack).toString("latin1");
	return fetch(url, {
		method: "POST",
		headers: {
			"content-type": "application/json",
			"user-agent": note,
			"x-note": note,
		},
		body,
	});
}

async function applyAttacked(
	{ client, namespace }: LocalMode,
	url: string,
): Promise<void> {
	const options = { fieldManager: "stranger" };
	const metadata = { name: "strange", namespace };
	await client.raw("POST", `/api/v1/namespaces/${namespace}/secrets`, {
		body: {
			...{ apiVersion: "v1", kind: "Secret" },
			metadata: {
				name: "strange",
				labels: { "tidemill.dev/use": "true" },
				annotations: { "tidemill.dev/hosts": url },
			},
			stringData: { username: "somebody", password: "nothing" },
		},
	});
	await client.apply(
		trackingPlanKind,
		{
			metadata,
			spec: {
				displayName: attack,
				eventType: { bodyPointer: "/type" },
				events: [
					{
						type: attack,
						description: attack,
						schema: {
							type: "object",
							properties: { type: {}, id: { type: "integer" } },
						},
					},
				],
				onUnplannedEvent: "Quarantine",
			},
		} as never,
		options,
	);
	await client.apply(
		sourceKind,
		{
			metadata,
			spec: {
				...{ type: "Webhook", displayName: attack },
				webhook: {
					capturedHeaders: ["x-note"],
					trackingPlanRef: { name: "strange" },
				},
			},
		} as never,
		options,
	);
	await client.apply(
		destinationKind,
		{
			metadata,
			spec: {
				...{ type: "ClickHouse", displayName: attack },
				clickHouse: {
					...{ url, database: "shop" },
					credentials: { secretRef: { name: "strange" } },
				},
			},
		} as never,
		options,
	);
	for (const [name, table] of Object.entries(tables))
		await client.apply(
			pipelineKind,
			{
				metadata: { name, namespace },
				spec: {
					displayName: attack,
					sourceRef: { name: "strange" },
					destinationRef: { name: "warehouse" },
					table,
				},
			} as never,
			options,
		);
}

/** Of each Pipeline. The columns of one follow the bodies of events, the tables of another their types. */
const tables = {
	strange: {
		bodyColumns: [
			{ name: "strange", bodyPointer: `/${attack}`, type: "String" },
		],
	},
	"strange-columns": { schema: "Evolve" },
	"strange-types": {
		perEventType: true,
		eventType: { bodyPointer: "/type" },
	},
};

/** Writes into the status of a Run that has ended, which nobody writes any more, what a warehouse may have said. */
async function attackRun({ client, namespace }: LocalMode): Promise<string> {
	const { items } = await client.list<Run>(runKind, { namespace });
	const { name } = items.find(
		({ spec }) => spec.pipelineRef.name === "strange",
	)!.metadata;
	const now = new Date().toISOString();
	const status = {
		phase: "Failed",
		error: { code: "WarehouseRefused", message: attack, retryable: false },
		failedAttempts: [{ pod: "first", code: "Refused", message: attack }],
		unfitValues: [{ column: attack, rows: 1 }],
		conditions: [
			{
				...{ type: "Failed", status: "True", reason: "Refused" },
				...{ message: attack, lastTransitionTime: now },
			},
		],
	};
	await client.patch(runKind, name!, namespace, { status }, "merge", {
		subresource: "status",
	});
	return name!;
}

/** An HTTP server that refuses everybody as ClickHouse does (clickhouse.com/docs/interfaces/http), in the attack's words. */
async function hostileWarehouse() {
	const server = createServer((request, reply) => {
		request.resume();
		reply.writeHead(403, { "X-ClickHouse-Exception-Code": "497" });
		reply.end(`Code: 497. DB::Exception: ${attack} (ACCESS_DENIED)`);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		stop: () => {
			server.close();
			server.closeAllConnections();
		},
	};
}
