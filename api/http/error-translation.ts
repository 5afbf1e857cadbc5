import {
	KubeApiError,
	TransportError,
} from "../../packages/kube/client/errors.ts";
import { publicWords } from "../../packages/kube/text.ts";
import {
	internal,
	invalidFields,
	RequestError,
	unauthorized,
	unavailable,
} from "./errors.ts";
import { quotesObject, refusedFields } from "./refused-fields.ts";

/** The response to anything thrown. Callers see details only of our own errors and the apiserver's. */
export function requestErrorOf(error: unknown): RequestError {
	if (error instanceof RequestError) return error;
	if (error instanceof KubeApiError) return ofApiserver(error);
	if (error instanceof TransportError) return unavailable();
	return ofFastify(error) ?? internal();
}

function ofApiserver(error: KubeApiError): RequestError {
	switch (error.status) {
		case 400:
		case 422:
			return invalid(error);
		case 401:
			return unauthorized("invalid");
		case 403:
			return new RequestError("Forbidden", forbidden(error.message));
		case 404:
			return new RequestError("NotFound", `There is no ${objectOf(error)}.`);
		case 409:
			return new RequestError("Conflict", conflict(error));
		case 410:
			return new RequestError(
				"CursorExpired",
				"The cursor has expired. List again without it.",
			);
		case 429:
		case 503:
		case 504:
			return unavailable(wordsOfWebhook(error));
		default: {
			const words = wordsOfWebhook(error);
			return words === undefined ? internal() : unavailable(words);
		}
	}
}

/** What the apiserver says of an admission webhook that fails (k8s.io/apiserver admission/plugin/webhook/errors). */
function wordsOfWebhook({ message }: KubeApiError): string | undefined {
	return /\bwebhook "/.test(message) ? publicWords(message) : undefined;
}

/** Of `metav1.StatusDetails`. The API calls a namespace an account. */
const nouns: Partial<Record<string, string>> = {
	sources: "source",
	destinations: "destination",
	pipelines: "pipeline",
	runs: "run",
	trackingplans: "tracking plan",
	namespaces: "account",
	secrets: "Secret",
	pods: "Pod",
};

function objectOf({ details }: KubeApiError): string {
	const { name, kind = "" } = (details ?? {}) as {
		name?: string;
		kind?: string;
	};
	const noun = nouns[kind] ?? (kind || "such resource");
	return name ? `${noun} "${name}"` : noun;
}

function conflict(error: KubeApiError): string {
	return error.reason === "AlreadyExists"
		? `There already is a ${objectOf(error)}. Choose another name, or change that one.`
		: `The ${objectOf(error)} changed meanwhile. Fetch it and retry.`;
}

/** The apiserver's sentence for a missing right (k8s.io/apiserver authorization: `forbiddenMessage`). */
const missingRight =
	/ cannot (?<verb>\S+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)"(?: in the namespace "(?<account>[^"]+)")?/;

/** Which right on what is missing, and which role has it. Other refusals, such as a quota's, are in the cluster's words. */
function forbidden(message: string): string {
	const found = missingRight.exec(message)?.groups;
	if (!found) {
		const [, reason = message] = / is forbidden: (.*)/s.exec(message) ?? [];
		return `The cluster refuses this: ${publicWords(reason)}`;
	}
	const { verb, resource, group, account } = found;
	const where = account ? ` in account "${account}"` : "";
	const role = roleFor(verb!, resource!, group!);
	return `Your token lacks the right "${verb}" on ${resource}${where}. Ask an administrator to bind a role that has it${role ? `, such as ${role}` : ""}.`;
}

function roleFor(
	verb: string,
	resource: string,
	group: string,
): string | undefined {
	if (group === "" && resource.startsWith("pods")) return "tidemill-log-reader";
	if (group === "" && resource === "secrets") return "tidemill-editor";
	if (resource.startsWith("serviceaccounts") || resource === "rolebindings")
		return "tidemill-admin";
	if (group !== "tidemill.dev") return undefined;
	if (["get", "list", "watch"].includes(verb)) return "tidemill-viewer";
	return resource === "runs" ? "tidemill-runner" : "tidemill-editor";
}

function invalid(error: KubeApiError): RequestError {
	const details = refusedFields(error);
	if (details.length > 0) return invalidFields("request", details);
	return new RequestError(
		"InvalidRequest",
		quotesObject(error)
			? "The request is invalid: the cluster can't read the object that it makes."
			: publicWords(error.message),
	);
}

/** For requests that fastify refuses before they reach a handler. */
function ofFastify(error: unknown): RequestError | undefined {
	switch ((error as { statusCode?: number }).statusCode) {
		case 400:
			return new RequestError(
				"InvalidRequest",
				"The request can't be parsed. Its body must be a JSON object.",
			);
		case 413:
			return new RequestError(
				"TooLarge",
				"The body is too large. At most 1 MiB is allowed.",
			);
		case 415:
			return new RequestError(
				"UnsupportedContentType",
				"Content-Type must be application/json.",
			);
		default:
			return undefined;
	}
}
