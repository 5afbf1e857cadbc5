import type { FastifyInstance, FastifyRequest } from "fastify";

/**
 * Of an answer that is its caller's alone: no cache keeps it (RFC 9111 §5.2.2.5), so it is gone from the browser when the visitor has
 * signed out, and no browser takes what senders wrote for a page. A cache that keeps it nevertheless must not give it to another
 * visitor (RFC 9110 §12.5.5).
 */
export const callersOnly = {
	"cache-control": "no-store",
	"x-content-type-options": "nosniff",
	vary: "Cookie",
} as const;

/** Gives every answer these headers, errors and streams too, except those that are for everybody. */
export function keepAnswersFromCaches(
	api: FastifyInstance,
	isForEverybody: (request: FastifyRequest) => boolean,
): void {
	api.addHook("onSend", async (request, reply) => {
		if (isForEverybody(request)) return;
		reply.headers({
			...callersOnly,
			vary: withCookie([reply.getHeader("vary") ?? []].flat().join(", ")),
		});
	});
}

function withCookie(vary: string): string {
	const names = vary.split(",").map((name) => name.trim());
	const isSaid = names.some((name) => /^(cookie|\*)$/i.test(name));
	return isSaid
		? vary
		: [...names, callersOnly.vary].filter(Boolean).join(", ");
}
