import type { CustomSignature, SignatureScheme } from "./route.ts";

/** A scheme that signs by the HMAC of a text with the request in it. */
export type DescribedScheme = Exclude<SignatureScheme, "Custom" | "Twilio">;

const gitHub: CustomSignature = {
	header: "x-hub-signature-256",
	headerPart: "sha256",
	algorithm: "SHA256",
	encoding: "Hex",
	signedString: "{body}",
};

const standard = (sender: string): CustomSignature => ({
	header: `${sender}-signature`,
	prefix: "v1,",
	algorithm: "SHA256",
	encoding: "Base64",
	signedString: `{header:${sender}-id}.{timestamp}.{body}`,
	timestampHeader: `${sender}-timestamp`,
});

/** How providers sign, in the words in which a Source describes any other. Each follows its provider's documentation. */
export const describedSchemes: Record<DescribedScheme, CustomSignature> = {
	// The specification at standardwebhooks.com, which grew out of Svix.
	StandardWebhooks: standard("webhook"),
	Svix: standard("svix"),
	// docs.github.com, "Validating webhook deliveries"; developers.facebook.com, "Webhooks: Event Notifications".
	GitHub: gitHub,
	Meta: gitHub,
	// docs.stripe.com, "Verify webhook signatures manually".
	Stripe: {
		header: "stripe-signature",
		headerPart: "v1",
		algorithm: "SHA256",
		encoding: "Hex",
		signedString: "{timestamp}.{body}",
		timestampHeader: "stripe-signature",
		timestampHeaderPart: "t",
	},
	// shopify.dev, "Verify webhook deliveries".
	Shopify: {
		header: "x-shopify-hmac-sha256",
		algorithm: "SHA256",
		encoding: "Base64",
		signedString: "{body}",
	},
	// docs.slack.dev, "Verifying requests from Slack".
	Slack: {
		header: "x-slack-signature",
		headerPart: "v0",
		algorithm: "SHA256",
		encoding: "Hex",
		signedString: "v0:{timestamp}:{body}",
		timestampHeader: "x-slack-request-timestamp",
	},
};
