/** The words of the sign-in. */
export const signInWords = {
	title: "Sign in",
	token: "Token",
	tokenHelp:
		"A token of Kubernetes, such as `kubectl create token` or `tidemill tokens create` prints.",
	signIn: "Sign in",
	oidc: "Sign in with your organization",
	or: "or",
	hasEnded: "Your session has ended. Sign in again to continue where you were.",
	codeInvalid:
		"The code in the link is used or older than 10 minutes. Print another with `tidemill console`.",
	local:
		"On the machine where Tidemill runs, `tidemill console` prints a link that signs you in.",
	needed: "Paste a token.",
};
