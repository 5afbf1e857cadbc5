/** An event with its body, as the API has it (`EventReceipt` in its document). */
export interface StoredDelivery {
	eventId: string;
	kind: string;
	body?: string;
	headers?: Record<string, string>;
	queryParameters?: Record<string, string>;
}

/** They are of a connection, or of the bytes that were sent, and not of the event. */
const ofConnection =
	/^(host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|content-length|content-encoding|proxy-.*)$/;

/** The request as its sender made it, as far as it is stored. */
export function requestOf({
	eventId,
	kind,
	body = "",
	headers = {},
}: StoredDelivery): { headers: Headers; body: string } {
	const isForm = kind === "form";
	const sent = new Headers({
		"content-type": isForm
			? "application/x-www-form-urlencoded"
			: "application/json",
	});
	for (const [name, value] of Object.entries(headers))
		if (!ofConnection.test(name) && !(isForm && name === "content-type"))
			sent.set(name, value);
	sent.set("tidemill-event-id", eventId);
	return { headers: sent, body: isForm ? formText(body) : body };
}

/** A form is stored as an object of its fields; a repeated name has a list. */
function formText(json: string): string {
	const fields = new URLSearchParams();
	for (const [name, value] of Object.entries(JSON.parse(json)))
		for (const one of [value].flat()) fields.append(name, String(one));
	return fields.toString();
}
