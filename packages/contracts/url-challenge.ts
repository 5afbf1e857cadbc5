/** A request by which a sender checks the URL, and its answer. It is never stored. */
export interface URLChallenge {
	match: {
		method: "GET" | "HEAD" | "OPTIONS" | "POST";
		/** At most one of these three is set. A header's name in lower case, a query parameter's, a JSON Pointer (RFC 6901). */
		header?: string;
		queryParameter?: string;
		bodyPointer?: string;
		/** The value there; absent for any value but none. */
		equals?: string;
	};
	answer: AnswerHead & {
		/** With placeholders for values of the request, and for the computed one. */
		template: string;
		headers?: { name: string; template: string }[];
		compute?: ComputedValue;
	};
}

export interface AnswerHead {
	status: 200 | 201 | 202 | 204;
	contentType:
		| "application/json"
		| "text/plain"
		| "text/xml"
		| "application/xml";
}

/** The HMAC of a value of the request by the Source's first signing secret. */
export interface ComputedValue {
	algorithm: "SHA1" | "SHA256" | "SHA512";
	encoding: "Hex" | "Base64";
	/** One placeholder. */
	input: string;
}

/** What the sender of a stored event gets. */
export interface SenderAnswer extends AnswerHead {
	body: string;
	/** Who sends an event that is refused gets no content, either. */
	emptyRefusals?: boolean;
}
