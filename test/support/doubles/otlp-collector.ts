import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A span as OTLP has it in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
export interface OtlpSpan {
	/** service.name of the process. */
	service: string;
	traceId: string;
	spanId: string;
	parentSpanId?: string;
	name: string;
	links?: { traceId: string; spanId: string }[];
	attributes: Record<string, string>;
}

interface OtlpAttribute {
	key: string;
	value: { stringValue?: string; intValue?: string | number };
}

interface OtlpRequest {
	resourceSpans: {
		resource: { attributes: OtlpAttribute[] };
		scopeSpans: {
			spans: (Omit<OtlpSpan, "attributes" | "service"> & {
				attributes: OtlpAttribute[];
			})[];
		}[];
	}[];
}

/** Keeps the spans that are sent to it (`POST /v1/traces`), and answers `GET /spans` with them. */
export async function startCollector() {
	const spans: OtlpSpan[] = [];
	const server = createServer(async (request, response) => {
		response.setHeader("content-type", "application/json");
		if (request.method === "GET") {
			response.end(JSON.stringify(spans));
			return;
		}
		const { resourceSpans } = (await json(request)) as OtlpRequest;
		for (const { resource, scopeSpans } of resourceSpans)
			for (const span of scopeSpans.flatMap(({ spans }) => spans))
				spans.push({
					...span,
					service: textsOf(resource.attributes)["service.name"]!,
					attributes: textsOf(span.attributes),
				});
		response.end("{}");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		stop: async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

function textsOf(attributes: OtlpAttribute[]): Record<string, string> {
	return Object.fromEntries(
		attributes.map(({ key, value }) => [
			key,
			value.stringValue ?? String(value.intValue),
		]),
	);
}
