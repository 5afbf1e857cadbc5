/** The user of a token, as the apiserver says (authentication.k8s.io/v1 UserInfo). */
export interface Identity {
	username: string;
	groups: string[];
}
