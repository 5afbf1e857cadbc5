import { expect, test } from "vitest";
import { isCertificateURL, isConfirmationURL } from "./notify-question.ts";

const file = "SimpleNotificationService-56e67fcb41f6fec09b0196692625d385.pem";

test.each([
	"sns.us-east-1.amazonaws.com",
	"sns.us-gov-west-1.amazonaws.com",
	"sns.ap-southeast-4.amazonaws.com",
	"sns.cn-north-1.amazonaws.com.cn",
])("%s is a host of Amazon SNS", (host) => {
	expect(isCertificateURL(`https://${host}/${file}`)).toBe(true);
	expect(
		isConfirmationURL(
			`https://${host}/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-east-1:123456789012:orders&Token=2336412f37`,
		),
	).toBe(true);
});

test.each([
	"http://sns.us-east-1.amazonaws.com",
	"https://sns.us-east-1.amazonaws.com:444",
	"https://user@sns.us-east-1.amazonaws.com",
	"https://sns.us-east-1.amazonaws.com.evil.example",
	"https://sns.us-east-1.amazonaws.com@evil.example",
	"https://evil.example/sns.us-east-1.amazonaws.com",
	"https://sns.evil.amazonaws.com",
	"https://sns.amazonaws.com",
	// Buckets that anybody can make.
	"https://sns.s3.amazonaws.com",
	"https://sns.s3-us-west-2.amazonaws.com",
	"https://sns.s3.us-west-2.amazonaws.com",
	"https://sns.us-east-1.amazonaws.com\\@evil.example",
	" https://sns.us-east-1.amazonaws.com",
	"https://SNS.us-east-1.amazonaws.com",
	"https://sns.us-east-1.amazonaws.com\n.evil.example",
	"https://169.254.169.254",
])("%j isn't", (origin) => {
	expect(isCertificateURL(`${origin}/${file}`)).toBe(false);
	const query = "?Action=ConfirmSubscription&TopicArn=a&Token=b";
	expect(isConfirmationURL(`${origin}/${query}`)).toBe(false);
});

const sns = "https://sns.us-east-1.amazonaws.com/";

test.each([
	`${sns}other.pem`,
	`${sns}${file}?x=1`,
	`${sns}${file}#x`,
	`${sns}x/../${file}`,
	`${sns}${file}\n`,
	sns,
])("no certificate is fetched from %j", (url) => {
	expect(isCertificateURL(url)).toBe(false);
});

test.each([
	"?Action=Publish&TopicArn=a&Token=b",
	"?Action=ConfirmSubscription&Action=Publish&TopicArn=a&Token=b",
	"?Action=ConfirmSubscription&TopicArn=a&Token=b&Message=x",
	"?Action=ConfirmSubscription&TopicArn=a",
	"x?Action=ConfirmSubscription&TopicArn=a&Token=b",
	"?Action=ConfirmSubscription&TopicArn=a&Token=b#x",
	`?Action=ConfirmSubscription&TopicArn=a&Token=${"b".repeat(2_000)}`,
])("%s confirms nothing", (rest) => {
	expect(isConfirmationURL(sns + rest)).toBe(false);
});
