/**
 * Where a credential may go: who wrote the Secret says so, and whoever names the Secret can't. As text it is a URL, such as
 * `postgres+verify-full://db:5432`, `https://ch.example.com:8443` or `http://ch.db.svc:8123`.
 */
export interface Binding {
	scheme: Scheme;
	/** In lower case, an IPv6 address without brackets. With its final dot, if it has one. */
	host: string;
	port: number;
	/** The least of it: more is fine, too. */
	tls: TLSMode;
	/** The Secret with the authorities that may have signed the server's certificate; absent for the public ones. */
	ca?: string;
}

/** `http` is ClickHouse's, with TLS or without. */
export type Scheme = "postgres" | "http";

/** From least to most, as libpq has them. `http://` is `disable`, and `https://` is `verify-full`. */
export const tlsModes = [
	"disable",
	"require",
	"verify-ca",
	"verify-full",
] as const;

export type TLSMode = (typeof tlsModes)[number];

/** How names of Services end where Jobs run, and the namespace of those that have none. */
export interface ServiceNames {
	namespace: string;
	/** Such as `cluster.local`. */
	clusterDomain: string;
}

/** What a Job gets of them: what its credentials are bound to. */
export interface BoundTo extends ServiceNames {
	/** As {@link bindingText} has them. */
	to: string[];
}

/** What a Secret says of itself. */
export interface SecretWords {
	/** The annotation `tidemill.dev/hosts`. */
	hosts: string | undefined;
	/** A value of its data, by its key. */
	value(key: string): string | undefined;
}

/** Keys with the URL that programs connect by, as in Secrets of CloudNativePG and of Service Binding. */
const urlKeys = ["url", "uri", "fqdn-uri"] as const;

/** Keys of a Secret that say where it may go. */
export const bindingKeys = ["host", "port", "sslmode", ...urlKeys] as const;

/**
 * Where a Secret may go, by its annotation and by its own keys; or why nobody can know, as a sentence about the annotation.
 * @param reached The newest check that succeeded: a Secret with a host and no word of TLS also binds what that had.
 */
export function bindingsOf(
	{ hosts, value }: SecretWords,
	scheme: Scheme,
	names: ServiceNames,
	reached?: Binding,
): Binding[] | string {
	const annotated = parseBindings(hosts ?? "");
	if (typeof annotated === "string") return annotated;
	const own = [
		{ host: value("host"), port: value("port"), mode: value("sslmode") },
		...urlKeys.map((key) => inURL(value(key), scheme)),
	].flatMap((said) => boundByKeys(said, scheme, names, reached));
	return [...annotated.filter((one) => one.scheme === scheme), ...own];
}

interface SaidHost {
	host?: string | undefined;
	port?: string | undefined;
	mode?: string | undefined;
}

function boundByKeys(
	{ host: text, port, mode }: SaidHost,
	scheme: Scheme,
	names: ServiceNames,
	reached: Binding | undefined,
): Binding[] {
	const host = hostIn(text ?? "");
	if (host === undefined) return [];
	const bound = (tls: TLSMode): Binding => ({
		scheme,
		host,
		port: port ? Number(port) : ownPort(scheme, tls),
		tls,
	});
	const own = bound(tlsModes.find((one) => one === mode) ?? "verify-full");
	if (mode || !reached) return [own];
	const asReached = {
		...bound(reached.tls),
		...(reached.ca !== undefined && { ca: reached.ca }),
	};
	return isBound(reached, asReached, names) ? [own, asReached] : [own];
}

/** Of a Secret that has a host, but no port. */
export function ownPort(scheme: Scheme, tls: TLSMode): number {
	if (scheme === "postgres") return 5432;
	// https://clickhouse.com/docs/guides/sre/network-ports
	return tls === "disable" ? 8123 : 8443;
}

function inURL(text: string | undefined, scheme: Scheme): SaidHost {
	if (text === undefined || !URL.canParse(text)) return {};
	const { protocol, hostname: host, port, searchParams } = new URL(text);
	const found = schemes.get(protocol.slice(0, -1));
	if (found?.scheme !== scheme) return {};
	return scheme === "postgres"
		? { host, port, mode: searchParams.get("sslmode") ?? undefined }
		: { host, port: port || String(found.port), mode: found.tls };
}

/** Of the annotation, and of each key: accounts write them, and each look at a Destination reads them. */
export const maxBindingsText = 4_096;

/** Bindings, separated by commas or white space; or why they are none, as a sentence, which quotes nothing: it may be a password. */
export function parseBindings(text: string): Binding[] | string {
	if (text.length > maxBindingsText)
		return `It has ${text.length} characters, and may have ${maxBindingsText}.`;
	const bindings: Binding[] = [];
	for (const word of text.split(/[\s,]+/).filter(Boolean)) {
		const binding = parseBinding(word);
		if (!binding)
			return `Its entry ${bindings.length + 1} is no binding. It must be like postgres+verify-full://db.example.com:5432 or https://clickhouse.example.com:8443.`;
		bindings.push(binding);
	}
	return bindings;
}

/** Undefined if the text has more than where to go, such as a user or a path. */
export function parseBinding(text: string): Binding | undefined {
	const [, scheme = "", authority = "", ca] =
		/^([a-z0-9+-]+):\/\/([^/?#@\s]+)\/?(?:\?ca=([a-z0-9]([-.a-z0-9]*[a-z0-9])?))?$/i.exec(
			text,
		) ?? [];
	const [, bracketed, plain, port] =
		/^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(authority) ?? [];
	const found = schemes.get(scheme.toLowerCase());
	const host = hostIn(bracketed ?? plain ?? "");
	const number = Number(port ?? found?.port);
	if (!found || host === undefined || !(number >= 1 && number <= 65_535))
		return undefined;
	return {
		scheme: found.scheme,
		host,
		port: number,
		tls: found.tls,
		...(ca !== undefined && { ca }),
	};
}

const postgres = { scheme: "postgres", port: 5432 } as const;
const schemes = new Map<string, Omit<Binding, "host" | "ca">>([
	...["postgres", "postgresql"].flatMap((name) => [
		[name, { ...postgres, tls: "verify-full" }] as const,
		...tlsModes.map((tls) => [`${name}+${tls}`, { ...postgres, tls }] as const),
	]),
	["http", { scheme: "http", port: 80, tls: "disable" }],
	["https", { scheme: "http", port: 443, tls: "verify-full" }],
]);

/** Node's own of this name is in no browser, and the console has this file. */
function isIPv6(text: string): boolean {
	return /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`);
}

/** As {@link Binding.host}; undefined if it is none. */
export function hostIn(text: string): string | undefined {
	const bare = text.replace(/^\[(.*)\]$/, "$1").toLowerCase();
	// One address has many texts (RFC 5952).
	if (isIPv6(bare)) return new URL(`http://[${bare}]`).hostname.slice(1, -1);
	return /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/.test(bare) &&
		!bare.includes("..")
		? bare
		: undefined;
}

/** As {@link parseBinding} reads it. */
export function bindingText({ scheme, host, port, tls, ca }: Binding): string {
	const name =
		scheme === "postgres"
			? `postgres+${tls}`
			: tls === "disable"
				? "http"
				: "https";
	const place = isIPv6(host) ? `[${host}]` : host;
	return `${name}://${place}:${port}${ca === undefined ? "" : `?ca=${ca}`}`;
}

/**
 * Whether a credential with the binding may go to the target.
 * @param target How it would be reached: with how much TLS, and whose authorities.
 */
export function isBound(
	target: Binding,
	binding: Binding,
	names: ServiceNames,
): boolean {
	// By authorities that somebody else chose, a certificate proves nothing.
	const tls =
		target.ca === binding.ca || rank(target.tls) < rank("require")
			? target.tls
			: "require";
	return (
		target.scheme === binding.scheme &&
		target.port === binding.port &&
		rank(tls) >= rank(binding.tls) &&
		isSameHost(target.host, binding.host, names)
	);
}

/**
 * Before a Job sends a byte: why its credentials may not go to the target; undefined if they may.
 * @param target Undefined for an address that can't be read.
 */
export function unboundReason(
	target: Binding | undefined,
	bound: BoundTo | undefined,
): string | undefined {
	const isAllowed = bound?.to.some((text) => {
		const binding = parseBinding(text);
		return target && binding && isBound(target, binding, bound);
	});
	return isAllowed
		? undefined
		: `The Secret doesn't say that its credentials may go to ${target ? bindingText(target) : "this address"}`;
}

const rank = (tls: TLSMode) => tlsModes.indexOf(tls);

/** Whether two names lead a Job to the same host: names of a Service have several forms. */
export function isSameHost(
	one: string,
	other: string,
	names: ServiceNames,
): boolean {
	const plain = (host: string) => host.toLowerCase().replace(/\.$/, "");
	if (plain(one) === plain(other)) return true;
	const service = serviceOf(one, names);
	return service !== undefined && service === serviceOf(other, names);
}

/**
 * The Service and its namespace that a name may mean. `db.ns` is `db.ns.svc` to the resolver of a Pod, which tries that before a host
 * of the internet; with a final dot it is no Service, unless it is whole.
 */
function serviceOf(
	host: string,
	{ namespace, clusterDomain }: ServiceNames,
): string | undefined {
	const isWhole = host.endsWith(".");
	const name = host.toLowerCase().replace(/\.$/, "");
	const suffix = `.svc.${clusterDomain.toLowerCase().replace(/\.$/, "")}`;
	if (name.endsWith(suffix)) {
		const service = name.slice(0, -suffix.length);
		return service.split(".").length === 2 ? service : undefined;
	}
	if (isWhole || isIPv6(name) || /^[\d.]+$/.test(name)) return undefined;
	const labels = name.split(".");
	if (labels.length === 1) return `${name}.${namespace}`;
	if (labels.length === 2) return name;
	return labels.length === 3 && labels[2] === "svc"
		? labels.slice(0, 2).join(".")
		: undefined;
}
