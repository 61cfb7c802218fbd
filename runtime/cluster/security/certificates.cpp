//===- certificates.cpp - TLS between a job's processes -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/security/certificates.h"
#include "runtime/cluster/security/crypto.h"
#include "runtime/cluster/security/keyed.h"
#include "runtime/core/text.h"
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace dist::cluster {

using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;

/// The P-256 key pair whose private number follows from the secret.
static Key deriveAuthorityKey(const JobSecret &secret) {
  Owned<EC_GROUP, EC_GROUP_free> group(
      EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  Owned<BN_CTX, BN_CTX_free> context(BN_CTX_new());
  Owned<BIGNUM, BN_clear_free> range(BN_new()), number(BN_new());
  requireCrypto(group && context && range && number);
  // More bytes than the number has: no value of 1 to order - 1 is then likelier
  // than another by more than 2^-128.
  std::string wide = deriveKey(secret.text(), "tls authority", 48);
  requireCrypto(
      BN_copy(range.get(), EC_GROUP_get0_order(group.get())) &&
      BN_sub_word(range.get(), 1) &&
      BN_bin2bn(reinterpret_cast<const unsigned char *>(wide.data()),
                int(wide.size()), number.get()) &&
      BN_mod(number.get(), number.get(), range.get(), context.get()) &&
      BN_add_word(number.get(), 1));
  BN_set_flags(number.get(), BN_FLG_CONSTTIME);

  Owned<EC_POINT, EC_POINT_free> point(EC_POINT_new(group.get()));
  unsigned char shown[65];
  requireCrypto(point &&
                EC_POINT_mul(group.get(), point.get(), number.get(), nullptr,
                             nullptr, context.get()) &&
                EC_POINT_point2oct(
                    group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED,
                    shown, sizeof shown, context.get()) == sizeof shown);
  Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build(OSSL_PARAM_BLD_new());
  requireCrypto(build &&
                OSSL_PARAM_BLD_push_utf8_string(
                    build.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
                OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY,
                                       number.get()) &&
                OSSL_PARAM_BLD_push_octet_string(
                    build.get(), OSSL_PKEY_PARAM_PUB_KEY, shown, sizeof shown));
  Owned<OSSL_PARAM, OSSL_PARAM_free> parameters(
      OSSL_PARAM_BLD_to_param(build.get()));
  Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> making(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY *key = nullptr;
  requireCrypto(parameters && making &&
                EVP_PKEY_fromdata_init(making.get()) == 1 &&
                EVP_PKEY_fromdata(making.get(), &key, EVP_PKEY_KEYPAIR,
                                  parameters.get()) == 1);
  return Key(key);
}

/// For `key`, signed by `issuer`; its `extensions` in openssl's text form.
static Certificate
certify(const char *name, EVP_PKEY *key, const char *issuerName,
        EVP_PKEY *issuer,
        std::initializer_list<std::pair<int, const char *>> extensions) {
  Certificate made(X509_new());
  requireCrypto(made != nullptr);
  auto setName = [](X509_NAME *to, const char *text) {
    return X509_NAME_add_entry_by_txt(
               to, "CN", MBSTRING_ASC,
               reinterpret_cast<const unsigned char *>(text), -1, -1, 0) == 1;
  };
  requireCrypto(
      X509_set_version(made.get(), X509_VERSION_3) &&
      ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1) &&
      // Clocks of the hosts may be anywhere: the secret's life is the job's.
      ASN1_TIME_set_string(X509_getm_notBefore(made.get()),
                           "19700101000000Z") &&
      ASN1_TIME_set_string(X509_getm_notAfter(made.get()), "99991231235959Z") &&
      X509_set_pubkey(made.get(), key) &&
      setName(X509_get_subject_name(made.get()), name) &&
      setName(X509_get_issuer_name(made.get()), issuerName));
  for (auto &[number, value] : extensions) {
    Owned<X509_EXTENSION, X509_EXTENSION_free> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, number, value));
    requireCrypto(extension &&
                  X509_add_ext(made.get(), extension.get(), -1) == 1);
  }
  requireCrypto(X509_sign(made.get(), issuer, EVP_sha256()) > 0);
  return made;
}

/// What `write` writes into memory.
template <typename Write> static std::string toPem(Write write) {
  Owned<BIO, BIO_free_all> memory(BIO_new(BIO_s_mem()));
  requireCrypto(memory && write(memory.get()) == 1);
  char *bytes = nullptr;
  long size = BIO_get_mem_data(memory.get(), &bytes);
  return {bytes, size_t(size)};
}

TlsCertificates makeCertificates(const JobSecret &secret) {
  // Another secret's authority has another name: that is how OpenSSL sees at
  // once, and says so, that a certificate is not one of these.
  std::string uniqueName =
      "dist-job " + toHex(deriveKey(secret.text(), "tls authority's name", 8));
  const char *authorityName = uniqueName.c_str();
  Key authorityKey = deriveAuthorityKey(secret);
  Key own(EVP_EC_gen("P-256"));
  requireCrypto(own != nullptr);
  Certificate authority = certify(authorityName, authorityKey.get(),
                                  authorityName, authorityKey.get(),
                                  {{NID_basic_constraints, "critical,CA:TRUE"},
                                   {NID_key_usage, "critical,keyCertSign"}});
  Certificate certificate =
      certify(kTlsName, own.get(), authorityName, authorityKey.get(),
              {{NID_basic_constraints, "critical,CA:FALSE"},
               {NID_key_usage, "critical,digitalSignature"},
               {NID_subject_alt_name, "DNS:dist-job,DNS:*.hello.dist-job"}});
  auto pemOf = [](X509 *one) {
    return toPem([&](BIO *to) { return PEM_write_bio_X509(to, one); });
  };
  return {pemOf(authority.get()), pemOf(certificate.get()), toPem([&](BIO *to) {
            return PEM_write_bio_PrivateKey(to, own.get(), nullptr, nullptr, 0,
                                            nullptr, nullptr);
          }),
          deriveKey(secret.text(), "tls greeting", 32)};
}

} // namespace dist::cluster
