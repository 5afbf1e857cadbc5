import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, vi } from "vitest";
import {
	issueCertificate,
	type KeyPair,
} from "../../../operator/install/certificate.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";

/** What an admission webhook is told of a request (admission.k8s.io/v1 AdmissionReview). */
export interface AdmissionRequest {
	uid: string;
	operation: "CREATE" | "UPDATE" | "DELETE";
	/** Empty for one that Kubernetes is to name. */
	name: string;
	namespace: string;
	resource: { resource: string };
	subResource?: string;
	dryRun?: boolean;
}

type Verdict = "fails" | "permits" | { denies: string };

/** An admission webhook that the real apiserver asks about requests in one namespace, and which notes them. */
export interface AdmissionWebhook {
	/** What it was asked, in order. */
	requests: AdmissionRequest[];
	/** Answers each question by HTTP 500, or denies with these words, or permits; at first it fails. */
	answer: Verdict | ((request: AdmissionRequest) => Verdict);
	/** Where it listens, `127.0.0.1:port`. */
	address: string;
	stop(): Promise<void>;
}

const configurationKind: ResourceKind<KubeObject & { webhooks: object[] }> = {
	group: "admissionregistration.k8s.io",
	version: "v1",
	kind: "ValidatingWebhookConfiguration",
	plural: "validatingwebhookconfigurations",
	namespaced: false,
};

/**
 * @param rules What it is asked about, such as `{ apiGroups: ["batch"], resources: ["jobs"] }`.
 * @param authority Signs its certificate.
 */
export async function startAdmissionWebhook(
	client: KubeClient,
	authority: KeyPair,
	namespace: string,
	rules: { apiGroups: string[]; resources: string[]; operations?: string[] }[],
): Promise<AdmissionWebhook> {
	const pair = await issueCertificate(
		{ name: "CN=webhook", hosts: ["127.0.0.1"] },
		authority,
		Date.now(),
		1,
	);
	const server = createServer(pair, async (request, response) => {
		let body = "";
		for await (const chunk of request) body += chunk;
		const asked: AdmissionRequest = JSON.parse(body).request;
		webhook.requests.push(asked);
		const { answer: given } = webhook;
		const answer = typeof given === "function" ? given(asked) : given;
		if (answer === "fails") {
			response.writeHead(500).end("the policy engine is out of order");
			return;
		}
		response.writeHead(200, { "content-type": "application/json" }).end(
			JSON.stringify({
				apiVersion: "admission.k8s.io/v1",
				kind: "AdmissionReview",
				response: {
					uid: asked.uid,
					allowed: answer === "permits",
					...(typeof answer === "object" && {
						status: { code: 403, message: answer.denies },
					}),
				},
			}),
		);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const { port } = server.address() as AddressInfo;
	const address = `127.0.0.1:${port}`;
	const webhook: AdmissionWebhook = {
		requests: [],
		answer: "fails",
		address,
		async stop() {
			await client.delete(configurationKind, namespace);
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
	await client.create(configurationKind, {
		metadata: { name: namespace },
		webhooks: [
			{
				name: "policy.example.com",
				clientConfig: {
					url: `https://${address}/validate`,
					caBundle: Buffer.from(authority.cert).toString("base64"),
				},
				rules: rules.map((rule) => ({
					apiVersions: ["*"],
					operations: ["CREATE"],
					...rule,
				})),
				namespaceSelector: {
					matchLabels: { "kubernetes.io/metadata.name": namespace },
				},
				failurePolicy: "Fail",
				sideEffects: "None",
				admissionReviewVersions: ["v1"],
				timeoutSeconds: 5,
			},
		],
	});
	return webhook;
}

/** Kubernetes asks a new webhook only after a while: this waits until it refuses the object, which isn't kept. */
export async function untilRefused<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: Parameters<typeof client.create<T>>[1],
): Promise<void> {
	await vi.waitFor(
		() =>
			expect(client.create(kind, object, { dryRun: true })).rejects.toThrow(
				"policy.example.com",
			),
		{ timeout: 120_000, interval: 50 },
	);
}

/** A Job for {@link untilRefused}. */
export function probeJob(namespace: string) {
	const containers = [{ name: "none", image: "none" }];
	const template = { spec: { restartPolicy: "Never", containers } };
	return { metadata: { name: "probe", namespace }, spec: { template } };
}
