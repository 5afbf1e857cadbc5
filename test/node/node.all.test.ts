// On a laptop nothing proves this: a real node needs root, containerd and networks of its own.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import {
	apply,
	clusterTest,
	get,
	kubectl,
	makeNamespace,
	removeNamespace,
} from "./support/cluster.ts";
import { runPod, scriptPod } from "./support/pod.ts";
import { serviceURL } from "./support/service.ts";

/* That the cluster itself does what an installation builds on. */

const namespace = `node-${randomUUID().slice(0, 8)}`;

beforeAll(() => makeNamespace(namespace));
afterAll(() => removeNamespace(namespace));

clusterTest(
	"a Job of our image ends with its message and its log",
	async () => {
		const script = `
		import { writeFileSync } from "node:fs";
		console.log("at work");
		writeFileSync("/dev/termination-log", "done");
	`;
		const log = await runPod("message", namespace, scriptPod(script));
		expect(log).toBe("at work\n");
		const { items } = await get<{ items: Pod[] }>(
			"pods",
			`--namespace=${namespace}`,
			"--selector=job-name=message",
		);
		expect(items.map((pod) => pod.status.containerStatuses[0]?.state)).toEqual([
			{ terminated: expect.objectContaining({ exitCode: 0, message: "done" }) },
		]);
	},
);

clusterTest("a Service answers outside and, by its name, inside", async () => {
	const labels = { app: "echo" };
	const serve = `
		import { createServer } from "node:http";
		createServer((_, answer) => answer.end("hello")).listen(8080);
	`;
	await apply(
		{
			apiVersion: "apps/v1",
			kind: "Deployment",
			metadata: { name: "echo", namespace },
			spec: {
				replicas: 2,
				selector: { matchLabels: labels },
				template: {
					metadata: { labels },
					spec: scriptPod(serve, {
						readinessProbe: { httpGet: { port: 8080 } },
					}),
				},
			},
		},
		{
			apiVersion: "v1",
			kind: "Service",
			metadata: { name: "echo", namespace },
			spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
		},
	);
	await kubectl(
		"rollout",
		"status",
		"--timeout=120s",
		`--namespace=${namespace}`,
		"deployment/echo",
	);
	const answer = await fetch(await serviceURL("echo", namespace));
	expect(await answer.text()).toBe("hello");

	const ask = `
		import { lookup } from "node:dns/promises";
		for (const host of ["echo", "echo.${namespace}.svc.cluster.local"]) {
			const answer = await fetch("http://" + host + "/");
			console.log(await answer.text());
		}
		await lookup("nowhere.invalid").catch(({ code }) => console.log(code));
	`;
	const log = await runPod("ask", namespace, scriptPod(ask));
	expect(log).toBe("hello\nhello\nENOTFOUND\n");
});

interface Pod {
	status: { containerStatuses: { state: object }[] };
}
