import { Agent } from "node:https";
import { join } from "node:path";
import { parse } from "yaml";
import { pinnedBinaries } from "../../../local/binaries/pinned.ts";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { ensurePki } from "../../../local/servers/pki.ts";
import { documented } from "../../support/examples/documented.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";
import { importImage } from "../cluster/node.ts";
import { locateNodeHome } from "../cluster/node-home.ts";
import { writeBinaryArchive } from "../images/binary-archive.ts";
import { apply, kubectl, makeNamespace, removeNamespace } from "./cluster.ts";
import { systemNamespace } from "./installation.ts";
import { serviceURL } from "./service.ts";

const name = "skipper";
const namespace = "ingress";
const image = `tidemill.local/skipper:${pinnedBinaries.skipper.version}`;

/** The host of the API's Ingress, and the path that it is under. */
export interface DocumentedIngress {
	/** The chart's values that docs/console.md gives for an ingress controller. */
	values: object;
	host: string;
	path: string;
}

export function documentedIngress(): DocumentedIngress {
	for (const { text } of documented("docs/console.md#in-a-cluster yaml")) {
		const values = parse(text);
		const ingress = values.api?.ingress;
		if (ingress?.className === name)
			return { values, host: ingress.host, path: ingress.path };
	}
	throw new Error(`docs/console.md has no Ingress of the class ${name}`);
}

/** Makes the certificate of the hosts, in the Secrets that the chart's Ingresses name by default. Returns the authority's. */
export async function applyCertificates(hosts: string[]): Promise<string> {
	const { ca, ingress } = await ensurePki(
		join(await temporaryDirectory("ingress"), "pki"),
		Date.now(),
		{ ingress: { issuer: "ca", name: `CN=${name}`, hosts } },
	);
	await apply(
		...["api", "receive"].map((part) => ({
			apiVersion: "v1",
			kind: "Secret",
			type: "kubernetes.io/tls",
			metadata: { name: `tidemill-${part}-tls`, namespace: systemNamespace },
			stringData: { "tls.crt": ingress.cert, "tls.key": ingress.key },
		})),
	);
	return ca.cert;
}

/** A sender that finds all hosts at one address, and trusts the authority. */
export function senderTo(address: string, ca: string): Agent {
	return new Agent({
		ca,
		lookup: (_host, _options, done) => done(null, [{ address, family: 4 }]),
	});
}

/**
 * Starts an ingress controller in the cluster: Skipper, which routes by the Ingresses of its class in the installation's
 * namespace, with their certificates. Settles when it has read them. Returns the address of its Service, and what removes it.
 */
export async function startIngressController(): Promise<{
	address: string;
	stop(): Promise<void>;
}> {
	const archive = join(await temporaryDirectory("image"), "skipper.tar");
	const { skipper: program } = await resolveBinaries(["skipper"]);
	writeBinaryArchive(archive, {
		name: image,
		program,
		entrypoint: ["/skipper"],
	});
	await importImage(locateNodeHome(), archive);
	await makeNamespace(namespace);
	await apply(...rights, deployment, service);
	await kubectl(
		...["rollout", "status", `deployment/${name}`, "--timeout=120s"],
		`--namespace=${namespace}`,
	);
	return {
		address: new URL(await serviceURL(name, namespace)).hostname,
		stop: async () => {
			await removeNamespace(namespace);
			await kubectl(
				...["delete", `role/${name}`, `rolebinding/${name}`],
				`--namespace=${systemNamespace}`,
			);
		},
	};
}

const role = {
	apiGroup: "rbac.authorization.k8s.io",
	kind: "Role",
	name,
};
const account = { kind: "ServiceAccount", name, namespace };

/** It reads by listing again and again, and in the one namespace that it serves. */
const rights = [
	{
		apiVersion: "v1",
		kind: "ServiceAccount",
		metadata: { name, namespace },
	},
	{
		apiVersion: `${role.apiGroup}/v1`,
		kind: role.kind,
		metadata: { name, namespace: systemNamespace },
		rules: [
			{
				apiGroups: [""],
				resources: ["services", "secrets"],
				verbs: ["list"],
			},
			{
				apiGroups: ["networking.k8s.io"],
				resources: ["ingresses"],
				verbs: ["list"],
			},
			{
				apiGroups: ["discovery.k8s.io"],
				resources: ["endpointslices"],
				verbs: ["list"],
			},
		],
	},
	{
		apiVersion: `${role.apiGroup}/v1`,
		kind: "RoleBinding",
		metadata: { name, namespace: systemNamespace },
		roleRef: role,
		subjects: [account],
	},
];

/** https://opensource.zalando.com/skipper/kubernetes/ingress-controller/ */
const deployment = {
	apiVersion: "apps/v1",
	kind: "Deployment",
	metadata: { name, namespace },
	spec: {
		selector: { matchLabels: { app: name } },
		template: {
			metadata: { labels: { app: name } },
			spec: {
				serviceAccountName: name,
				// It waits for a load balancer that there isn't.
				terminationGracePeriodSeconds: 1,
				securityContext: {
					runAsNonRoot: true,
					runAsUser: 65534,
					seccompProfile: { type: "RuntimeDefault" },
				},
				containers: [
					{
						name,
						image,
						args: [
							"-kubernetes",
							"-kubernetes-in-cluster",
							`-kubernetes-namespace=${systemNamespace}`,
							`-kubernetes-ingress-class=^${name}$`,
							"-kubernetes-enable-tls",
							"-enable-kubernetes-endpointslices",
							"-wait-first-route-load",
							"-proxy-preserve-host",
							"-forwarded-headers=X-Forwarded-For,X-Forwarded-Host,X-Forwarded-Proto=https",
							"-address=:8443",
							// For the kubelet.
							"-insecure-address=:8080",
						],
						ports: [{ containerPort: 8443 }, { containerPort: 8080 }],
						readinessProbe: {
							httpGet: { path: "/kube-system/healthz", port: 8080 },
							periodSeconds: 1,
						},
						securityContext: {
							allowPrivilegeEscalation: false,
							readOnlyRootFilesystem: true,
							capabilities: { drop: ["ALL"] },
						},
					},
				],
			},
		},
	},
};

const service = {
	apiVersion: "v1",
	kind: "Service",
	metadata: { name, namespace },
	spec: {
		selector: { app: name },
		ports: [{ port: 443, targetPort: 8443 }],
	},
};
