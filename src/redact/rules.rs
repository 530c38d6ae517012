//! The detectors: one row for each kind of secret that can be recognized by its shape.
//!
//! Prefixes, character sets and lengths follow what the issuers document and what the structured
//! rules of gitleaks 8 (`config/gitleaks.toml`, MIT, copyright 2019 Zachary Rice) collect; the
//! expressions are written for this table. Strings that only look random are not covered: entropy
//! alone would report every long identifier.

use super::keys::{PEM_LINE, whole_pem, whole_putty};
use super::resemblance::{assigned, drawn, mixed, passphrase, password, pem, random, url_password};
use regex::bytes::{Captures, Regex};
use std::ops::Range;
use std::sync::OnceLock;

/// A kind of secret.
pub struct Rule {
    /// Its name in placeholders and reports.
    pub kind: &'static str,
    /// Literals: the rule applies only to text that contains one of them. A literal is in the raw
    /// bytes even if JSON escapes a slash or backslash in the secret, but not if it escapes
    /// letters.
    pub keywords: &'static [&'static str],
    /// The expression. The secret is the first group that matched, or the whole match if none did.
    /// `^` at its beginning stands for [`START`].
    pattern: &'static str,
    /// Returns the range of the secret with a match in a text, if that is only a part of it.
    whole: fn(&[u8], Range<usize>) -> Range<usize>,
    /// Whether a match is a secret.
    is_secret: fn(&[u8]) -> bool,
    /// For keywords that are ordinary words: whether a secret may follow one, from the bytes after
    /// it, in which quotes may be escaped.
    pub may_follow: fn(&[u8]) -> bool,
    /// Whether the secret is recognized by what is around it, not by itself.
    pub is_contextual: bool,
    compiled: OnceLock<Regex>,
}

/// Where a secret may begin whose own beginning may be the end of a word: not after a letter, but
/// after `_`, the code of a colour, or a character that is encoded for a URL.
const START: &str = r"(?:\b|_|\[[0-9;]{0,12}m|%[0-9A-Fa-f]{2})";

impl Rule {
    const fn new(
        kind: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
    ) -> Rule {
        Rule::checked(kind, keywords, pattern, |_| true)
    }

    const fn checked(
        kind: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
        is_secret: fn(&[u8]) -> bool,
    ) -> Rule {
        let compiled = OnceLock::new();
        Rule {
            kind,
            keywords,
            pattern,
            whole: |_, range| range,
            is_secret,
            may_follow: |_| true,
            is_contextual: false,
            compiled,
        }
    }

    const fn contextual(mut self) -> Rule {
        self.is_contextual = true;
        self
    }

    const fn part_of(mut self, whole: fn(&[u8], Range<usize>) -> Range<usize>) -> Rule {
        self.whole = whole;
        self
    }

    const fn followed(mut self, may_follow: fn(&[u8]) -> bool) -> Rule {
        self.may_follow = may_follow;
        self
    }

    /// Returns the expression, compiled when it is first needed.
    pub fn expression(&self) -> &Regex {
        let pattern = || self.pattern.replacen("(?-u)^", &format!("(?-u){START}"), 1);
        self.compiled
            .get_or_init(|| Regex::new(&pattern()).expect("each row of the table is tested"))
    }

    /// Returns the range of the secret in a match of the expression, if it is one. Documentation
    /// marks its keys by `EXAMPLE`.
    pub fn secret(&self, text: &[u8], captures: &Captures) -> Option<Range<usize>> {
        let group = (1..captures.len()).find_map(|group| captures.get(group));
        let range = (self.whole)(text, group.or(captures.get(0))?.range());
        let secret = &text[range.clone()];
        let is_example = memchr::memmem::find(secret, b"EXAMPLE").is_some();
        (!is_example && (self.is_secret)(secret)).then_some(range)
    }
}

/// Whether secrets of this kind are recognized by what is around them: such a secret may be an
/// ordinary word elsewhere.
pub fn is_contextual(kind: &str) -> bool {
    RULES
        .iter()
        .any(|rule| rule.kind == kind && rule.is_contextual)
}

/// Whether a value is assigned: `=` follows, or `:` or `=` with a value in quotes, perhaps after a
/// quote and white space.
fn is_assigned(rest: &[u8]) -> bool {
    let (mut before, mut is_named) = (0, false);
    for &byte in rest.iter().take(64) {
        match byte {
            b'=' if before == 0 => return true,
            b'"' | b'\'' if is_named => return true,
            b':' | b'=' => is_named = true,
            b'"' | b'\'' | b'\\' | b' ' | b'\t' | b'\r' | b'\n' => {}
            b'n' | b't' | b'r' if before == b'\\' => {}
            _ => return false,
        }
        before = byte;
    }
    false
}

/// Whether `user:password@` follows.
fn names_user(rest: &[u8]) -> bool {
    let start = rest.iter().position(|byte| !matches!(byte, b'/' | b'\\'));
    let login = &rest[start.unwrap_or(0)..rest.len().min(320)];
    let is_end = |byte: &u8| matches!(byte, b' ' | b'/' | b'"' | b'\'' | b'\\');
    let end = login.iter().position(is_end).unwrap_or(login.len());
    let colon = memchr::memchr(b':', &login[..end]);
    colon.is_some_and(|colon| memchr::memchr(b'@', &login[colon..end]).is_some())
}

/// Whether the third part of a Discord token follows the first letter of the second: five more, and
/// a dot.
fn is_second_of_three(rest: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    rest.get(..6)
        .is_some_and(|rest| rest[5] == b'.' && rest[..5].iter().all(is_digit))
}

/// The rows, more specific ones first: where two match the same bytes, the first determines the
/// kind.
#[rustfmt::skip]
pub static RULES: [Rule; 80] = [
    // Private keys.
    Rule::checked("private-key", &["PRIVATE KEY"], PEM_LINE, pem).part_of(whole_pem),
    Rule::checked("putty-key", &["PuTTY-User-Key-File"], r"(?-u)PuTTY-User-Key-File-[23]:", pem).part_of(whole_putty),
    Rule::new("age-key", &["AGE-SECRET-KEY-1"], r"(?-u)AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    // Providers of models.
    Rule::new("anthropic-key", &["sk-ant-"], r"(?-u)sk-ant-[a-z]{2,10}[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    Rule::new("openrouter-key", &["sk-or-v1-"], r"(?-u)sk-or-v1-[0-9a-f]{64}"),
    Rule::new("openai-key", &["T3BlbkFJ"], r"(?-u)sk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}"),
    Rule::checked("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], r"(?-u)sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}", mixed),
    Rule::checked("model-key", &["sk-"], r"(?-u)(?:\b|%[0-9A-Fa-f]{2}|[^aeiou])(sk-[A-Za-z0-9]{32,64}\b)", random),
    Rule::checked("google-api-key", &["AIza"], r"(?-u)AIza[A-Za-z0-9_-]{35}", mixed),
    Rule::new("google-oauth-secret", &["GOCSPX-"], r"(?-u)GOCSPX-[A-Za-z0-9_-]{28}"),
    Rule::new("google-oauth-token", &["ya29."], r"(?-u)ya29\.[A-Za-z0-9_-]{30,}"),
    Rule::checked("huggingface-token", &["hf_", "api_org_"], r"(?-u)(?:hf_|api_org_)[A-Za-z]{34}\b", mixed),
    Rule::checked("replicate-token", &["r8_"], r"(?-u)r8_[A-Za-z0-9]{37}\b", mixed),
    Rule::checked("groq-key", &["gsk_"], r"(?-u)gsk_[A-Za-z0-9]{52}\b", mixed),
    Rule::checked("perplexity-key", &["pplx-"], r"(?-u)pplx-[A-Za-z0-9]{48}\b", mixed),
    Rule::checked("xai-key", &["xai-"], r"(?-u)xai-[A-Za-z0-9]{70,84}\b", mixed),
    Rule::checked("cerebras-key", &["csk-"], r"(?-u)csk-[a-z0-9]{40,52}\b", mixed),
    Rule::checked("nvidia-key", &["nvapi-"], r"(?-u)nvapi-[A-Za-z0-9_-]{60,72}", mixed),
    // Forges and registries.
    Rule::checked("github-pat", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(?-u)gh[pousr]_[A-Za-z0-9]{36,255}\b", mixed),
    Rule::checked("github-pat", &["github_pat_"], r"(?-u)github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", mixed),
    Rule::new("github-app-token", &["ghs_"], r"(?-u)ghs_[0-9]+_eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"),
    Rule::checked("gitlab-token", &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-"], r"(?-u)gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,300}", mixed),
    Rule::checked("npm-token", &["npm_"], r"(?-u)npm_[A-Za-z0-9]{36}\b", mixed),
    Rule::new("pypi-token", &["pypi-AgE"], r"(?-u)pypi-AgE[A-Za-z0-9_-]{50,}"),
    Rule::new("rubygems-key", &["rubygems_"], r"(?-u)rubygems_[0-9a-f]{48}\b"),
    Rule::checked("crates-token", &["cio"], r"(?-u)^(cio[A-Za-z0-9]{32}\b)", mixed),
    Rule::new("docker-token", &["dckr_"], r"(?-u)dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    Rule::new("atlassian-token", &["ATATT3", "ATCTT3", "ATBB"], r"(?-u)(?:AT[AC]TT3[A-Za-z0-9_=-]{60,250}|ATBB[A-Za-z0-9]{32}\b)"),
    // Clouds and hosts.
    Rule::checked("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(?-u)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", mixed),
    Rule::checked("aws-secret-key", &["ws_secret_access_key", "WS_SECRET_ACCESS_KEY", "ecretAccessKey", "SecretKey"], r#"(?i-u)(?:aws_secret_access_key|secretaccesskey|aws_?secretkey)["'\\]*\s*[:=]\s*["'\\]*([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#, mixed),
    Rule::new("azure-storage-key", &["AccountKey=", "SharedAccessKey="], r"(?-u)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{42,88}={1,2})"),
    Rule::checked("azure-client-secret", &["7Q~", "8Q~"], r"(?-u)[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", mixed),
    Rule::checked("alibaba-key", &["LTAI"], r"(?-u)LTAI[A-Za-z0-9]{17,21}\b", mixed),
    Rule::new("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(?-u)do[opr]_v1_[0-9a-f]{64}\b"),
    Rule::new("databricks-token", &["dapi"], r"(?-u)dapi[0-9a-f]{32}(?:-[0-9])?\b"),
    Rule::new("heroku-key", &["HRKU-AA"], r"(?-u)HRKU-AA[A-Za-z0-9_-]{58}"),
    Rule::checked("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], r"(?-u)vc[pirak]_[A-Za-z0-9]{24,64}\b", mixed),
    Rule::checked("netlify-token", &["nfp_"], r"(?-u)nfp_[A-Za-z0-9]{36}\b", mixed),
    Rule::new("fly-token", &["fm1r_", "fm1a_", "fm2_"], r"(?-u)fm(?:1[ar]|2)_[A-Za-z0-9+/=]{60,}"),
    Rule::checked("cloudflare-token", &["cfut_", "cfat_", "cfk_"], r"(?-u)cf(?:ut|at|k)_[A-Za-z0-9]{40,60}\b", mixed),
    Rule::new("vault-token", &["hvs.", "hvb."], r"(?-u)hv[sb]\.[A-Za-z0-9_-]{80,300}"),
    Rule::new("terraform-token", &[".atlasv1."], r"(?-u)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    Rule::new("pulumi-token", &["pul-"], r"(?-u)pul-[0-9a-f]{40}\b"),
    Rule::new("doppler-token", &["dp.pt.", "dp.st.", "dp.ct."], r"(?-u)dp\.(?:pt|ct|st(?:\.[a-z0-9_-]+)?)\.[A-Za-z0-9]{40,44}\b"),
    Rule::checked("supabase-key", &["sbp_", "sb_secret_"], r"(?-u)(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,60})", mixed),
    Rule::new("planetscale-token", &["pscale_"], r"(?-u)pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    Rule::new("1password-token", &["ops_eyJ"], r"(?-u)ops_eyJ[A-Za-z0-9+/=_-]{100,}"),
    // Messaging, payment, office.
    Rule::new("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xoxc-", "xoxd-"], r"(?-u)xox(?:[abceprsd]-|e\.xox[bp]-)[A-Za-z0-9%-]{10,250}"),
    Rule::new("slack-app-token", &["xapp-"], r"(?-u)xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{30,}"),
    Rule::checked("slack-webhook", &["hooks.slack.com"], r"(?-u)hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,80})", mixed),
    Rule::new("discord-webhook", &["webhooks"], r"(?-u)discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})"),
    Rule::checked("telegram-token", &[":AA"], r"(?-u)([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)", mixed),
    Rule::checked("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"], r"(?-u)[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,248}\b", mixed),
    Rule::checked("webhook-secret", &["whsec_"], r"(?-u)whsec_[A-Za-z0-9+/]{24,64}=*", mixed),
    Rule::new("square-token", &["sq0atp-", "sq0csp-"], r"(?-u)sq0[ac][ts]p-[A-Za-z0-9_-]{22,60}"),
    Rule::new("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"(?-u)shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    Rule::checked("sendgrid-key", &["SG."], r"(?-u)SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", mixed),
    Rule::checked("mailgun-key", &["key-"], r"(?-u)^(key-[0-9a-f]{32}\b)", mixed),
    Rule::checked("mailchimp-key", &["-us"], r"(?-u)^([0-9a-f]{32}-us[0-9]{1,2}\b)", mixed),
    Rule::checked("resend-key", &["re_"], r"(?-u)^(re_[A-Za-z0-9]{8}_[A-Za-z0-9]{22,30}\b)", mixed),
    Rule::checked("notion-token", &["ntn_"], r"(?-u)ntn_[A-Za-z0-9]{40,50}\b", mixed),
    Rule::checked("linear-key", &["lin_api_", "lin_oauth_"], r"(?-u)lin_(?:api|oauth)_[A-Za-z0-9]{40,64}\b", mixed),
    Rule::checked("figma-token", &["figd_"], r"(?-u)figd_[A-Za-z0-9_-]{38,44}", mixed),
    Rule::new("langfuse-key", &["sk-lf-"], r"(?-u)sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    Rule::checked("langsmith-key", &["lsv2_"], r"(?-u)lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", mixed),
    Rule::checked("fireworks-key", &["fw_"], r"(?-u)fw_[A-Za-z0-9]{20,48}\b", drawn),
    Rule::checked("twilio-key", &["SK"], r"(?-u)(?:\A|[^A-Z]|%[0-9A-F]{2})(SK[0-9a-f]{32}\b)", random),
    Rule::checked("newrelic-key", &["NRAK-"], r"(?-u)NRAK-[A-Z0-9]{27}\b", mixed),
    Rule::checked("tailscale-key", &["tskey-"], r"(?-u)tskey-(?:[a-z]+-)?[A-Za-z0-9]{6,20}-[A-Za-z0-9]{16,40}", random),
    Rule::checked("discord-token", &[".G", ".X", ".Y", ".Z"], r"(?-u)[MNO][A-Za-z0-9_-]{22,26}\.[GXYZ][A-Za-z0-9_-]{5}\.[A-Za-z0-9_-]{27,40}", random).followed(is_second_of_three),
    Rule::checked("grafana-token", &["glc_", "glsa_"], r"(?-u)(?:glc_[A-Za-z0-9+/]{32,400}=*|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}\b)", mixed),
    Rule::new("postman-key", &["PMAK-"], r"(?-u)PMAK-[0-9a-f]{24}-[0-9a-f]{34}\b"),
    Rule::checked("sentry-token", &["sntrys_", "sntryu_"], r"(?-u)sntry(?:s_[A-Za-z0-9+/=_]{60,}|u_[0-9a-f]{64})", mixed),
    // Recognized by their context.
    Rule::new("jwt", &["eyJ"], r"(?-u)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    Rule::checked("authorization", &["uthorization", "UTHORIZATION", "earer ", "-api-key", "-Api-Key", "-API-KEY", "rivate-token", "RIVATE-TOKEN", "-auth-token", "-Auth-Token"], r#"(?i-u)\b(?:authorization["'\\]*\s*[:=]\s*["'\\]*(?:bearer|basic|token|apikey)\s+|bearer\s+|(?:x-api-key|api-key|x-auth-token|x-access-token|private-token)["'\\]*\s*[:=]\s*["'\\]*)([A-Za-z0-9._~+/-]{12,}=*)"#, random).contextual(),
    Rule::checked("url-password", &["://", ":\\/", ":\\\\"], r#"(?-u)\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'`<>\\\[]{0,100}:([^\s/"'\\]{3,200})@[A-Za-z0-9\[]"#, url_password).contextual().followed(names_user),
    Rule::checked("url-parameter", &["key=", "oken=", "ecret=", "assword=", "signature="], r#"(?i-u)[?&](?:[a-z0-9_-]{0,20}(?:key|token|secret|password)|signature)=([^\s&"'`<>(){}\\#]{8,500})"#, assigned).contextual(),
    Rule::checked("connection-password", &["assword=", "ASSWORD=", "Pwd=", "pwd=", "PWD="], r#"(?i-u);\s*(?:password|pwd)\s*=\s*([^;"'\s\\]{4,200})"#, password).contextual(),
    Rule::checked("assigned-password", &["PASSWORD", "PASSWD", "_PASS"], r#"(?-u)(?:PASSWORD|PASSWD|_PASS)=["']?([^\s"'`;,&|<>(){}\\]{6,200})"#, passphrase).contextual().followed(is_assigned),
    Rule::checked("assigned-secret", &["KEY", "TOKEN", "SECRET", "_key", "_Key", "piKey", "pikey", "ssKey", "sskey", "etKey", "etkey", "token", "secret", "assword", "asswd", "Token", "Secret", "PASSWORD"], r#"(?-u)(?:(?:KEY|TOKEN|SECRET)=["']?([^\s"'`;,&|<>(){}\\]{6,2000})|(?:[aA]pi_?[kK]ey|API_KEY|[aA]ccess_?[kK]ey|[tT]oken|TOKEN|[sS]ecret|SECRET|[sS]ecret_?[kK]ey|SECRET_KEY|[pP]assword|PASSWORD|[pP]asswd)["']?\s*(?::|:?=)\s*["']([^\s"'`<>(){}\\]{8,2000})["'])"#, assigned).contextual().followed(is_assigned),
];
