import type { Operation } from "../http/endpoint.ts";
import { createToken, getToken, listTokens, revokeToken } from "./tokens.ts";

const tag = "tokens";
const path = "/v1/tokens";

/** The operations on tokens. */
export const tokenOperations: Operation[] = [
	{
		id: "listTokens",
		method: "GET",
		path,
		summary: "List tokens",
		tag,
		handler: listTokens,
		query: ["limit", "cursor"],
		answers: { 200: { about: "A page of tokens.", schema: "TokenList" } },
		errors: [410],
	},
	{
		id: "createToken",
		method: "POST",
		path,
		summary: "Create a token",
		tag,
		handler: createToken,
		body: { schema: "TokenCreate", isRequired: true },
		answers: {
			201: { about: "The new token. It is shown once.", schema: "IssuedToken" },
		},
		errors: [409, 413, 415],
	},
	{
		id: "getToken",
		method: "GET",
		path: `${path}/{name}`,
		summary: "Show a token, without the token itself",
		tag,
		handler: getToken,
		answers: { 200: { about: "The token.", schema: "Token" } },
		errors: [404],
	},
	{
		id: "revokeToken",
		method: "DELETE",
		path: `${path}/{name}`,
		summary: "Revoke a token",
		tag,
		handler: revokeToken,
		answers: { 204: { about: "The token is invalid from now on." } },
		errors: [404],
	},
];
