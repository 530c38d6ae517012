//! The detectors: one row for each kind of secret that can be recognized by its shape.
//!
//! Prefixes, character sets and lengths follow what the issuers document and what the structured rules of
//! gitleaks 8 (`config/gitleaks.toml`, MIT, copyright 2019 Zachary Rice) collect; the expressions are written
//! for this table. Strings that only look random are not covered: entropy alone would report every long
//! identifier.

use super::shape::{assigned, classic_github, mixed, password, pem, random};
use regex::bytes::Regex;
use std::sync::OnceLock;

/// A kind of secret.
pub struct Rule {
    /// Its name in placeholders and reports.
    pub kind: &'static str,
    /// Literals: the rule applies only to text that contains one of them. A literal is in the raw bytes even
    /// if JSON escapes a slash or backslash in the secret, but not if it escapes letters.
    pub keywords: &'static [&'static str],
    /// The expression. The secret is the first group that matched, or the whole match if none did.
    pattern: &'static str,
    /// Whether a match is a secret.
    pub is_secret: fn(&[u8]) -> bool,
    compiled: OnceLock<Regex>,
}

impl Rule {
    const fn new(kind: &'static str, keywords: &'static [&'static str], pattern: &'static str) -> Rule {
        Rule::checked(kind, keywords, pattern, |_| true)
    }

    const fn checked(
        kind: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
        is_secret: fn(&[u8]) -> bool,
    ) -> Rule {
        Rule { kind, keywords, pattern, is_secret, compiled: OnceLock::new() }
    }

    /// Returns the expression, compiled when it is first needed.
    pub fn expression(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.pattern).expect("each row of the table is tested"))
    }
}

/// The rows, more specific ones first: where two match the same bytes, the first determines the kind.
#[rustfmt::skip]
pub static RULES: [Rule; 71] = [
    // Private keys.
    Rule::checked("private-key", &["PRIVATE KEY"], r"(?s-u)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:.{20,20000}?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|[^-]{20,20000})", pem),
    Rule::checked("putty-key", &["PuTTY-User-Key-File"], r"(?s-u)PuTTY-User-Key-File-[23]:.{20,20000}?Private-MAC: *[0-9a-f]{40,64}", pem),
    Rule::new("age-key", &["AGE-SECRET-KEY-1"], r"(?-u)AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    // Providers of models.
    Rule::new("anthropic-key", &["sk-ant-"], r"(?-u)\bsk-ant-[a-z]{2,10}[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    Rule::new("openrouter-key", &["sk-or-v1-"], r"(?-u)\bsk-or-v1-[0-9a-f]{64}"),
    Rule::new("openai-key", &["T3BlbkFJ"], r"(?-u)\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}"),
    Rule::checked("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], r"(?-u)\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}", mixed),
    Rule::checked("model-key", &["sk-"], r"(?-u)\bsk-[A-Za-z0-9]{32,64}\b", random),
    Rule::checked("google-api-key", &["AIza"], r"(?-u)\bAIza[A-Za-z0-9_-]{35}", mixed),
    Rule::new("google-oauth-secret", &["GOCSPX-"], r"(?-u)\bGOCSPX-[A-Za-z0-9_-]{28}"),
    Rule::new("google-oauth-token", &["ya29."], r"(?-u)\bya29\.[A-Za-z0-9_-]{30,}"),
    Rule::checked("huggingface-token", &["hf_", "api_org_"], r"(?-u)\b(?:hf_|api_org_)[A-Za-z]{34}\b", mixed),
    Rule::checked("replicate-token", &["r8_"], r"(?-u)\br8_[A-Za-z0-9]{37}\b", mixed),
    Rule::checked("groq-key", &["gsk_"], r"(?-u)\bgsk_[A-Za-z0-9]{52}\b", mixed),
    Rule::checked("perplexity-key", &["pplx-"], r"(?-u)\bpplx-[A-Za-z0-9]{48}\b", mixed),
    Rule::checked("xai-key", &["xai-"], r"(?-u)\bxai-[A-Za-z0-9]{70,84}\b", mixed),
    Rule::checked("cerebras-key", &["csk-"], r"(?-u)\bcsk-[a-z0-9]{40,52}\b", mixed),
    Rule::checked("nvidia-key", &["nvapi-"], r"(?-u)\bnvapi-[A-Za-z0-9_-]{60,72}", mixed),
    // Forges and registries.
    Rule::checked("github-pat", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(?-u)\bgh[pousr]_[A-Za-z0-9]{36,255}\b", classic_github),
    Rule::checked("github-pat", &["github_pat_"], r"(?-u)\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", mixed),
    Rule::new("github-app-token", &["ghs_"], r"(?-u)\bghs_[0-9]+_eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"),
    Rule::checked("gitlab-token", &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-"], r"(?-u)\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,300}", mixed),
    Rule::checked("npm-token", &["npm_"], r"(?-u)\bnpm_[A-Za-z0-9]{36}\b", mixed),
    Rule::new("pypi-token", &["pypi-AgE"], r"(?-u)\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    Rule::new("rubygems-key", &["rubygems_"], r"(?-u)\brubygems_[0-9a-f]{48}\b"),
    Rule::checked("crates-token", &["cio"], r"(?-u)\bcio[A-Za-z0-9]{32}\b", mixed),
    Rule::new("docker-token", &["dckr_"], r"(?-u)\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    Rule::new("atlassian-token", &["ATATT3", "ATCTT3", "ATBB"], r"(?-u)\b(?:AT[AC]TT3[A-Za-z0-9_=-]{60,250}|ATBB[A-Za-z0-9]{32}\b)"),
    // Clouds and hosts.
    Rule::checked("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(?-u)\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", mixed),
    Rule::checked("aws-secret-key", &["ws_secret_access_key", "WS_SECRET_ACCESS_KEY", "ecretAccessKey", "SecretKey"], r#"(?i-u)(?:aws_secret_access_key|secretaccesskey|aws_?secretkey)["'\\]*\s*[:=]\s*["'\\]*([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#, mixed),
    Rule::new("azure-storage-key", &["AccountKey=", "SharedAccessKey="], r"(?-u)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{42,88}={1,2})"),
    Rule::checked("azure-client-secret", &["7Q~", "8Q~"], r"(?-u)\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", mixed),
    Rule::checked("alibaba-key", &["LTAI"], r"(?-u)\bLTAI[A-Za-z0-9]{17,21}\b", mixed),
    Rule::new("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(?-u)\bdo[opr]_v1_[0-9a-f]{64}\b"),
    Rule::new("databricks-token", &["dapi"], r"(?-u)\bdapi[0-9a-f]{32}(?:-[0-9])?\b"),
    Rule::new("heroku-key", &["HRKU-AA"], r"(?-u)\bHRKU-AA[A-Za-z0-9_-]{58}"),
    Rule::checked("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], r"(?-u)\bvc[pirak]_[A-Za-z0-9]{24,64}\b", mixed),
    Rule::checked("netlify-token", &["nfp_"], r"(?-u)\bnfp_[A-Za-z0-9]{36}\b", mixed),
    Rule::new("fly-token", &["fm1r_", "fm1a_", "fm2_"], r"(?-u)\bfm(?:1[ar]|2)_[A-Za-z0-9+/=]{60,}"),
    Rule::checked("cloudflare-token", &["cfut_", "cfat_", "cfk_"], r"(?-u)\bcf(?:ut|at|k)_[A-Za-z0-9]{40,60}\b", mixed),
    Rule::new("vault-token", &["hvs.", "hvb."], r"(?-u)\bhv[sb]\.[A-Za-z0-9_-]{80,300}"),
    Rule::new("terraform-token", &[".atlasv1."], r"(?-u)\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    Rule::new("pulumi-token", &["pul-"], r"(?-u)\bpul-[0-9a-f]{40}\b"),
    Rule::new("doppler-token", &["dp.pt.", "dp.st.", "dp.ct."], r"(?-u)\bdp\.(?:pt|ct|st(?:\.[a-z0-9_-]+)?)\.[A-Za-z0-9]{40,44}\b"),
    Rule::checked("supabase-key", &["sbp_", "sb_secret_"], r"(?-u)\b(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,60})", mixed),
    Rule::new("planetscale-token", &["pscale_"], r"(?-u)\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    Rule::new("1password-token", &["ops_eyJ"], r"(?-u)\bops_eyJ[A-Za-z0-9+/=_-]{100,}"),
    // Messaging, payment, office.
    Rule::new("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xoxc-", "xoxd-"], r"(?-u)\bxox(?:[abceprsd]-|e\.xox[bp]-)[A-Za-z0-9%-]{10,250}"),
    Rule::new("slack-app-token", &["xapp-"], r"(?-u)\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{30,}"),
    Rule::new("slack-webhook", &["hooks.slack.com"], r"(?-u)hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,80})"),
    Rule::new("discord-webhook", &["webhooks"], r"(?-u)discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})"),
    Rule::checked("telegram-token", &[":AA"], r"(?-u)\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b", mixed),
    Rule::checked("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"], r"(?-u)\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,248}\b", mixed),
    Rule::checked("webhook-secret", &["whsec_"], r"(?-u)\bwhsec_[A-Za-z0-9+/]{24,64}=*", mixed),
    Rule::new("square-token", &["sq0atp-", "sq0csp-"], r"(?-u)\bsq0[ac][ts]p-[A-Za-z0-9_-]{22,60}"),
    Rule::new("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"(?-u)\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    Rule::new("sendgrid-key", &["SG."], r"(?-u)\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    Rule::new("mailgun-key", &["key-"], r"(?-u)\bkey-[0-9a-f]{32}\b"),
    Rule::new("mailchimp-key", &["-us"], r"(?-u)\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    Rule::checked("resend-key", &["re_"], r"(?-u)\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{22,30}\b", mixed),
    Rule::checked("notion-token", &["ntn_"], r"(?-u)\bntn_[A-Za-z0-9]{40,50}\b", mixed),
    Rule::checked("linear-key", &["lin_api_", "lin_oauth_"], r"(?-u)\blin_(?:api|oauth)_[A-Za-z0-9]{40,64}\b", mixed),
    Rule::checked("figma-token", &["figd_"], r"(?-u)\bfigd_[A-Za-z0-9_-]{38,44}", mixed),
    Rule::checked("grafana-token", &["glc_", "glsa_"], r"(?-u)\b(?:glc_[A-Za-z0-9+/]{32,400}=*|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}\b)", mixed),
    Rule::new("postman-key", &["PMAK-"], r"(?-u)\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b"),
    Rule::checked("sentry-token", &["sntrys_", "sntryu_"], r"(?-u)\bsntry(?:s_[A-Za-z0-9+/=_]{60,}|u_[0-9a-f]{64})", mixed),
    // Recognized by their context.
    Rule::new("jwt", &["eyJ"], r"(?-u)\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    Rule::checked("authorization", &["uthorization", "UTHORIZATION", "earer ", "-api-key", "-Api-Key", "-API-KEY", "rivate-token", "RIVATE-TOKEN", "-auth-token", "-Auth-Token"], r#"(?i-u)\b(?:authorization["'\\]*\s*[:=]\s*["'\\]*(?:bearer|basic|token|apikey)\s+|bearer\s+|(?:x-api-key|api-key|x-auth-token|x-access-token|private-token)["'\\]*\s*[:=]\s*["'\\]*)([A-Za-z0-9._~+/-]{12,}=*)"#, random),
    Rule::checked("url-password", &["://", ":\\/", ":\\\\"], r#"(?-u)\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'`<>\\]{0,100}:([^\s/@"'`<>\\]{3,200})@[A-Za-z0-9\[]"#, password),
    Rule::checked("connection-password", &["assword=", "ASSWORD=", "Pwd=", "pwd=", "PWD="], r#"(?i-u);\s*(?:password|pwd)\s*=\s*([^;"'\s\\]{4,200})"#, password),
    Rule::checked("assigned-secret", &["KEY", "TOKEN", "SECRET", "PASSW", "_PASS", "_key", "_Key", "piKey", "pikey", "ssKey", "sskey", "token", "secret", "passw", "Token", "Secret", "Passw"], r#"(?-u)(?:\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|_PASS)=["']?([^\s"'`;,&|<>(){}\\]{6,200})|["']?\b[A-Za-z0-9_-]{0,40}(?:[aA]pi_?[kK]ey|API_KEY|[aA]ccess_?[kK]ey|[tT]oken|TOKEN|[sS]ecret|SECRET|[sS]ecret_?[kK]ey|SECRET_KEY|[pP]assword|PASSWORD|[pP]asswd)["']?\s*(?::|:?=)\s*["']([^\s"'`<>(){}\\]{8,200})["'])"#, assigned),
];
