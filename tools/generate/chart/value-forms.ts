import { warehouses } from "../../../packages/warehouses/registry.ts";

/*
 * The forms of values that no default tells, as JSON Schema. A form's description is the right form, as a refusal says it after
 * "Use". A `$ref` is a form's name. The chart's templates know the keywords of value-forms.test.ts, and no others
 * (templates/cluster/values/_rules.tpl).
 */

type Form = Record<string, unknown>;

const of = (name: string): Form => ({ $ref: name });
const listOf = (name: string): Form => ({ type: "array", items: of(name) });
const text = (pattern: string, description: string): Form => ({
	type: "string",
	pattern: `^(${pattern})$`,
	description,
});
const objectOf = (properties: Form, more: Form = {}): Form => ({
	type: "object",
	properties,
	additionalProperties: false,
	...more,
});
const setOf = (items: Form): Form => ({
	type: "array",
	items,
	uniqueItems: true,
});
const choice = (...values: string[]): Form => ({
	type: "string",
	enum: values,
});
const anyText = { type: "string" };
const anyObject = { type: "object" };
const anyList = { type: "array" };

const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const labelWords =
	"a DNS label: at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends, such as shop";
const host = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const ipv4 = `${octet}(\\.${octet}){3}`;
const ipv6 = "[0-9a-fA-F:]*:[0-9a-fA-F:.]*";
const network = `${ipv4}/(3[0-2]|[12]?[0-9])|${ipv6}/(12[0-8]|1[01][0-9]|[1-9]?[0-9])`;
const quantity = "[0-9]+(\\.[0-9]+)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?";
const quantityWords =
	"a quantity of Kubernetes, such as 500m, 2, 512Mi or 16Gi";
const affinityTerms = objectOf({
	requiredDuringSchedulingIgnoredDuringExecution: {},
	preferredDuringSchedulingIgnoredDuringExecution: anyList,
});
const amounts = {
	type: "object",
	propertyNames: text(
		"cpu|memory|ephemeral-storage|hugepages-.+|.+/.+",
		"cpu, memory, ephemeral-storage or a device's name, such as nvidia.com/gpu",
	),
	additionalProperties: of("quantity"),
};

export const forms: Record<string, Form> = {
	address: text(`${ipv4}|${ipv6}`, "an IP address, such as 10.20.0.7 or ::"),
	affinity: objectOf({
		nodeAffinity: affinityTerms,
		podAffinity: affinityTerms,
		podAntiAffinity: affinityTerms,
	}),
	annotations: {
		type: "object",
		additionalProperties: {
			type: "string",
			description: "text, in quotes if it looks like a number or true",
		},
	},
	dnsConfig: objectOf({
		nameservers: listOf("address"),
		searches: { type: "array", items: anyText },
		options: {
			type: "array",
			items: objectOf({ name: anyText, value: anyText }),
		},
	}),
	digest: text(
		"sha256:[0-9a-f]{64}",
		"sha256: and 64 hex digits, as the registry shows it",
	),
	duration: text("([0-9]+(ms|[smhdwy]))+", "a duration, such as 30s or 1m"),
	env: {
		type: "object",
		// Values may be secret: no refusal shows them.
		additionalProperties: { type: ["string", "object"], writeOnly: true },
	},
	extraEnv: {
		type: "array",
		items: objectOf(
			{
				name: text(
					"[-._a-zA-Z][-._a-zA-Z0-9]*",
					"a variable's name, such as HTTPS_PROXY",
				),
				value: { type: "string", writeOnly: true },
				valueFrom: anyObject,
			},
			{ required: ["name"] },
		),
		uniqueItems: "name",
	},
	hostAlias: objectOf(
		{ ip: of("address"), hostnames: { type: "array", items: of("host") } },
		{ required: ["ip", "hostnames"] },
	),
	host: text(
		`(\\*\\.)?${host}`,
		"a host name alone, in lower case, such as api.example.com",
	),
	hosts: { ...listOf("host"), uniqueItems: true },
	ipFamilies: setOf(choice("IPv4", "IPv6")),
	labels: {
		type: "object",
		propertyNames: {
			not: {
				pattern:
					"^(tidemill\\.dev/.*|app\\.kubernetes\\.io/(name|instance|component|part-of|version|managed-by)|helm\\.sh/chart)$",
			},
			description:
				"a key of your own, such as example.com/team: the chart sets this one and selects Pods by it",
		},
		additionalProperties: of("labelValue"),
	},
	labelValue: text(
		"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?",
		"text of at most 63 letters, digits, dashes, dots and underscores, in quotes if it looks like a number or true",
	),
	localReference: objectOf({ name: of("name") }, { required: ["name"] }),
	name: text(
		host,
		"a name of Kubernetes: lower-case letters, digits, dashes and dots, with a letter or digit at both ends",
	),
	named: {
		type: "array",
		items: {
			type: "object",
			properties: { name: of("dnsLabel") },
			required: ["name"],
		},
		uniqueItems: "name",
	},
	dnsLabel: text(label, labelWords),
	namespaces: setOf(text(`\\*|${label}`, labelWords)),
	network: text(
		network,
		"a network with its mask, such as 10.20.0.0/16 or fd00::/8",
	),
	networkPeer: objectOf({
		podSelector: anyObject,
		namespaceSelector: anyObject,
		ipBlock: objectOf(
			{ cidr: of("network"), except: listOf("network") },
			{ required: ["cidr"] },
		),
	}),
	nodeSelector: { type: "object", additionalProperties: of("labelValue") },
	nullablePort: { type: ["integer", "null"], minimum: 1, maximum: 65535 },
	parentRef: objectOf(
		{
			group: anyText,
			kind: anyText,
			namespace: of("dnsLabel"),
			name: of("name"),
			sectionName: of("name"),
			port: of("port"),
		},
		{ required: ["name"] },
	),
	path: text("/.*", "a path that begins with /"),
	podSecurityContext: objectOf({
		runAsUser: {
			type: ["integer", "null"],
			minimum: 1,
			description: "a user's number from 1: no process runs as root",
		},
		runAsGroup: { type: ["integer", "null"], minimum: 0 },
		fsGroup: { type: ["integer", "null"], minimum: 0 },
		fsGroupChangePolicy: choice("OnRootMismatch", "Always"),
		supplementalGroups: anyList,
		supplementalGroupsPolicy: choice("Merge", "Strict"),
		seLinuxOptions: anyObject,
		seLinuxChangePolicy: anyText,
		appArmorProfile: anyObject,
		sysctls: anyList,
	}),
	port: { type: "integer", minimum: 1, maximum: 65535 },
	proxies: setOf(
		text(
			`${ipv4}|${ipv6}|${network}`,
			"an address, or a network with its mask, such as 10.20.0.7 or 10.20.0.0/16",
		),
	),
	quantity: { ...text(quantity, quantityWords), type: ["string", "number"] },
	ratio: {
		...text("0(\\.[0-9]+)?|1(\\.0+)?", "a share from 0 to 1, such as 0.1"),
		type: ["string", "number"],
		minimum: 0,
		maximum: 1,
	},
	repository: text(
		"[a-z0-9]+([._/-]+[a-z0-9]+)*",
		"an image's name in lower case, without registry and tag, such as tidemill/tidemill",
	),
	resources: objectOf({ requests: amounts, limits: amounts, claims: anyList }),
	share: {
		...text(
			"[0-9]+|(100|[1-9]?[0-9])%",
			"a number or a share, such as 1 or 50%",
		),
		type: ["string", "integer"],
		minimum: 0,
	},
	size: text(quantity, quantityWords),
	spread: objectOf(
		{
			maxSkew: { type: "integer", minimum: 1 },
			topologyKey: anyText,
			whenUnsatisfiable: choice("DoNotSchedule", "ScheduleAnyway"),
			labelSelector: anyObject,
			matchLabelKeys: anyList,
			minDomains: { type: "integer", minimum: 1 },
			nodeAffinityPolicy: choice("Honor", "Ignore"),
			nodeTaintsPolicy: choice("Honor", "Ignore"),
		},
		{ required: ["maxSkew", "topologyKey", "whenUnsatisfiable"] },
	),
	tag: text(
		"([A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?",
		"an image's tag, such as 1.2.3",
	),
	texts: { type: "array", items: anyText },
	tls: objectOf({ hosts: of("hosts"), secretName: of("name") }),
	toleration: objectOf({
		key: anyText,
		operator: choice("Exists", "Equal", "Lt", "Gt"),
		value: anyText,
		effect: choice("NoSchedule", "PreferNoSchedule", "NoExecute"),
		tolerationSeconds: { type: "integer" },
	}),
	url: text(
		"https?://[^/ @]+(/[^ ]*)?",
		"an address that begins with https:// or http://, without a user or a password, such as https://host.example.com",
	),
	volumeMounts: {
		type: "array",
		items: objectOf(
			{
				name: of("dnsLabel"),
				mountPath: of("path"),
				readOnly: { type: "boolean" },
				recursiveReadOnly: anyText,
				subPath: anyText,
				subPathExpr: anyText,
				mountPropagation: anyText,
			},
			{ required: ["name", "mountPath"] },
		),
	},
};

/** By the last keys of a value's path. */
const ends: Record<string, Form> = {
	affinity: of("affinity"),
	allowedNetworks: listOf("network"),
	annotations: of("annotations"),
	apiFrom: listOf("networkPeer"),
	"autoscaling.behavior": objectOf({
		scaleUp: anyObject,
		scaleDown: anyObject,
	}),
	...endpointsOfWarehouses(),
	caSecret: of("name"),
	className: of("name"),
	command: of("texts"),
	commonAnnotations: of("annotations"),
	commonLabels: of("labels"),
	digest: of("digest"),
	dnsConfig: of("dnsConfig"),
	endpoint: of("url"),
	env: of("env"),
	existingSecret: of("name"),
	extraContainers: of("named"),
	extraEnv: of("extraEnv"),
	extraHostnames: of("hosts"),
	extraHosts: of("hosts"),
	extraTls: listOf("tls"),
	extraVolumeMounts: of("volumeMounts"),
	extraVolumes: of("named"),
	fullnameOverride: of("dnsLabel"),
	hostAliases: listOf("hostAlias"),
	hostnames: of("hosts"),
	imagePullSecrets: listOf("localReference"),
	"ingress.host": of("host"),
	"ingress.path": of("path"),
	interval: of("duration"),
	ipFamilies: of("ipFamilies"),
	labels: of("labels"),
	listenHost: of("address"),
	loadBalancerSourceRanges: listOf("network"),
	maxUnavailable: of("share"),
	metricsFrom: listOf("networkPeer"),
	minAvailable: of("share"),
	nodePort: of("nullablePort"),
	nodeSelector: of("nodeSelector"),
	parentRefs: listOf("parentRef"),
	podAnnotations: of("annotations"),
	podLabels: of("labels"),
	podSecurityContext: of("podSecurityContext"),
	port: of("port"),
	priorityClassName: of("name"),
	ratio: of("ratio"),
	receiveFrom: listOf("networkPeer"),
	repository: of("repository"),
	resources: of("resources"),
	runtimeClassName: of("name"),
	scratchSize: of("size"),
	"serviceAccount.name": of("name"),
	"storage.size": of("size"),
	storageClassName: of("name"),
	tag: of("tag"),
	tlsSecretName: of("name"),
	tolerations: listOf("toleration"),
	topologySpreadConstraints: listOf("spread"),
	trustedProxies: of("proxies"),
	watchNamespaces: of("namespaces"),
};

/** The form of the value with this path, unless its default tells it. */
export function formOf(path: string): Form | undefined {
	const keys = path.split(".");
	return ends[keys.slice(-2).join(".")] ?? ends[keys.at(-1)!];
}

/** Such as `duckDBEndpoints`, for each type of warehouse that takes other addresses. */
function endpointsOfWarehouses(): Record<string, object> {
	const types = [...warehouses.values()].filter(({ endpoints }) => endpoints);
	return Object.fromEntries(
		types.map(({ member }) => [
			`${member}Endpoints`,
			{ ...listOf("url"), uniqueItems: true },
		]),
	);
}
