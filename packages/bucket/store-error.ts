import { S3ServiceException } from "@aws-sdk/client-s3";
import type { ObjectStoreSettings } from "./s3-client.ts";

type StoreOfError = Pick<ObjectStoreSettings, "bucket" | "endpoint" | "keys">;

/** Adds the action, the bucket and, for known errors, what to do. */
export function storeError(
	{ bucket, endpoint, keys }: StoreOfError,
	error: unknown,
	action: string,
): Error {
	const name = nameOf(error);
	const advised =
		(keys ? adviceOnFiles : adviceOnVariables)[name] ??
		advice[name] ??
		(statusOf(error) === 507 ? noStorage : undefined) ??
		(isDistrust(name) ? distrusted : undefined);
	const said = error instanceof Error ? error.message : String(error);
	return new Error(
		`S3: could not ${action} in bucket ${bucket}${endpoint ? ` at ${endpoint}` : ""}: ${name === "Error" ? "" : `${name}: `}${said.replace(/\.?$/, ".")}${advised ? ` ${advised}` : ""}`,
		{ cause: error },
	);
}

const noStorage =
	"The store has no room for more: raise the bucket's quota or enlarge its disk, or keep events for fewer days (retentionDays). Archive goes on by itself once there is room, and events wait in NATS until then.";

/** By the error codes of the S3 API reference, "List of error codes", and of the SDK. */
const advice: Record<string, string> = {
	NoSuchBucket: "Create the bucket, or set S3_BUCKET to the one to use.",
	CredentialsProviderError:
		"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the service account a role.",
	InvalidIdentityToken:
		"Correct AWS_WEB_IDENTITY_TOKEN_FILE, and let the role of AWS_ROLE_ARN trust the token's issuer.",
	AccessDenied:
		"Allow archive's credentials s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket and, for multipart uploads, s3:AbortMultipartUpload; with a KMS key also kms:GenerateDataKey and kms:Decrypt.",
	"KMS.NotFoundException": "Correct S3_SSE_KMS_KEY_ID.",
	"KMS.DisabledException": "Enable the key of S3_SSE_KMS_KEY_ID.",
	"KMS.KMSInvalidStateException": "Enable the key of S3_SSE_KMS_KEY_ID.",
	PermanentRedirect: "Set AWS_REGION to the bucket's region.",
	AuthorizationHeaderMalformed: "Set AWS_REGION to the bucket's region.",
	RequestTimeTooSkewed: "Correct this machine's clock.",
	ENOTFOUND:
		"Correct S3_ENDPOINT. If the store has no host name for each bucket, set S3_FORCE_PATH_STYLE=true.",
	ECONNREFUSED: "Correct S3_ENDPOINT, or start the store.",
	ERR_TLS_CERT_ALTNAME_INVALID:
		"Set S3_ENDPOINT to a host name of the store's certificate. If the certificate lacks the bucket's host name, set S3_FORCE_PATH_STYLE=true.",
	// Ceph's, 403 (rgw_common.cc), and MinIO's, 400 (cmd/api-errors.go). Others answer 507 (RFC 4918 §11.5), as versitygw does.
	QuotaExceeded: noStorage,
	XMinioAdminBucketQuotaExceeded: noStorage,
	NotImplemented: "Use a store with conditional writes (If-None-Match: *).",
};

const restart =
	"and restart archive (in Kubernetes: kubectl rollout restart deployment/<archive's name>).";

/** About keys in variables, which a process reads once. */
const adviceOnVariables: Record<string, string> = {
	InvalidAccessKeyId: `Correct AWS_ACCESS_KEY_ID, ${restart}`,
	// versitygw's name for it.
	XAdminUserNotFound: `Correct AWS_ACCESS_KEY_ID, ${restart}`,
	SignatureDoesNotMatch: `Correct AWS_SECRET_ACCESS_KEY, ${restart}`,
	InvalidToken: `Correct AWS_SESSION_TOKEN, ${restart}`,
	ExpiredToken: `Set a new AWS_SESSION_TOKEN, ${restart} Or give the service account a role.`,
};

const reads = "archive reads it again by itself.";

/** About keys in files. */
const adviceOnFiles: Record<string, string> = {
	InvalidAccessKeyId: `Correct accessKeyId in the store's Secret; ${reads}`,
	XAdminUserNotFound: `Correct accessKeyId in the store's Secret; ${reads}`,
	SignatureDoesNotMatch: `Correct secretAccessKey in the store's Secret; ${reads}`,
	InvalidToken: `Correct sessionToken in the store's Secret; ${reads}`,
	ExpiredToken: `Put new keys and a new sessionToken into the store's Secret; ${reads}`,
};

/** Whether the store may have refused the keys. */
export function isRefusal(error: unknown): boolean {
	return (
		[400, 401, 403].includes(statusOf(error) ?? 0) ||
		nameOf(error) in adviceOnFiles
	);
}

/** Whether the store's certificate has an unknown authority. OpenSSL's names (X509_verify_cert_error_string(3)), as Node reports them. */
function isDistrust(name: string): boolean {
	return /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE).*)$/.test(
		name,
	);
}

const distrusted =
	"Set S3_CA_FILE to a file with the PEM certificate of the authority that signed the store's certificate.";

/** The code of an S3 error or a socket error, or else the error's name. */
export function nameOf(error: unknown): string {
	if (!(error instanceof Error)) return "";
	const { code } = error as NodeJS.ErrnoException;
	return typeof code === "string" && error.name === "Error" ? code : error.name;
}

/** Whether the store doesn't support the action (versitygw answers 501 for lifecycle rules), or the credentials don't allow it. */
export function isUnsupported(error: unknown): boolean {
	return [403, 405, 501].includes(statusOf(error) ?? 0);
}

/**
 * By the S3 API reference, "List of error codes". A store that has begun to answer sends an error within a 200
 * (API reference, CompleteMultipartUpload and DeleteObjects), and the SDK makes a 503 of it.
 */
const statusOfCode: Record<string, number> = {
	AccessDenied: 403,
	ConditionalRequestConflict: 409,
	MethodNotAllowed: 405,
	NotImplemented: 501,
	OperationAborted: 409,
	PreconditionFailed: 412,
};

/** The status that the code of the store's error has, or else that of its answer; undefined without an answer. */
export function statusOf(error: unknown): number | undefined {
	return (
		statusOfCode[nameOf(error)] ??
		(error instanceof S3ServiceException
			? error.$metadata.httpStatusCode
			: undefined)
	);
}
