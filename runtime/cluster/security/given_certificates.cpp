//===- given_certificates.cpp - What a TLS client is given ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/security/given_certificates.h"
#include "runtime/cluster/security/crypto.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <vector>

namespace dist::cluster {

using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;
using Memory = Owned<BIO, BIO_free_all>;

static Memory openText(const std::string &text) {
  Memory memory(BIO_new_mem_buf(text.data(), int(text.size())));
  requireCrypto(memory != nullptr);
  return memory;
}

/// Nobody is asked for a passphrase.
static int refusePassphrase(char *, int, int, void *wasAsked) {
  *static_cast<bool *>(wasAsked) = true;
  return -1;
}

static std::vector<Certificate> readCertificates(const std::string &text) {
  std::vector<Certificate> all;
  Memory memory = openText(text);
  bool ignored = false;
  while (X509 *one = PEM_read_bio_X509(memory.get(), nullptr, refusePassphrase,
                                       &ignored))
    all.emplace_back(one);
  ERR_clear_error(); // as behind the last one
  return all;
}

static Status noCertificate(const std::string &from) {
  return Status::error(
      StatusCode::InvalidInput, "this is no certificate", from,
      "no CERTIFICATE block in it can be read",
      "give the one in PEM, whose first line is -----BEGIN CERTIFICATE-----");
}

static std::string timeText(const ASN1_TIME *time) {
  Memory memory(BIO_new(BIO_s_mem()));
  requireCrypto(memory && ASN1_TIME_print(memory.get(), time) == 1);
  char *bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return {bytes, size_t(size)};
}

static Status checkTime(X509 *one, const std::string &from) {
  const ASN1_TIME *begin = X509_get0_notBefore(one);
  const ASN1_TIME *end = X509_get0_notAfter(one);
  if (X509_cmp_current_time(begin) > 0)
    return Status::error(
        StatusCode::InvalidInput, "a certificate is not valid yet", from,
        "it is from " + timeText(begin) + " on",
        "set this machine's clock, or give one that is valid now");
  if (X509_cmp_current_time(end) < 0)
    return Status::error(StatusCode::InvalidInput,
                         "a certificate is not valid any more", from,
                         "it was until " + timeText(end),
                         "renew it, or set this machine's clock");
  return Status();
}

static Status checkAuthorities(const std::string &text,
                               const std::string &from) {
  const std::vector<Certificate> all = readCertificates(text);
  if (all.empty())
    return noCertificate(from);
  // Of several each will do.
  Status first;
  for (const Certificate &one : all) {
    Status status = checkTime(one.get(), from);
    if (status.ok())
      return status;
    if (first.ok())
      first = status;
  }
  return first;
}

static Status readKey(const std::string &text, const std::string &from,
                      Key *out) {
  bool isEncrypted = false;
  out->reset(PEM_read_bio_PrivateKey(openText(text).get(), nullptr,
                                     refusePassphrase, &isEncrypted));
  ERR_clear_error();
  if (*out)
    return Status();
  return isEncrypted
             ? Status::error(StatusCode::InvalidInput,
                             "a certificate's key is encrypted", from,
                             "nobody is there to be asked for its passphrase",
                             "give it without one: openssl pkey -in FILE -out "
                             "OTHER")
             : Status::error(StatusCode::InvalidInput,
                             "this is no certificate's key", from,
                             "no PRIVATE KEY block in it can be read",
                             "give the one in PEM that was made for the "
                             "certificate");
}

Status checkGiven(const TlsCertificates &given, const TlsCertificates &from) {
  DIST_RETURN_IF_ERROR(checkAuthorities(given.authority, from.authority));
  if (given.certificate.empty())
    return Status();
  const std::vector<Certificate> chain = readCertificates(given.certificate);
  if (chain.empty())
    return noCertificate(from.certificate);
  X509 *own = chain.front().get(); // behind it who has signed it
  DIST_RETURN_IF_ERROR(checkTime(own, from.certificate));
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, /*ca=*/0) != 1)
    return Status::error(
        StatusCode::InvalidInput, "a certificate is none of a client's",
        from.certificate, "what it says of its use leaves clients out",
        "give one with extendedKeyUsage clientAuth");
  Key key;
  DIST_RETURN_IF_ERROR(readKey(given.key, from.key, &key));
  const bool isItsKey = X509_check_private_key(own, key.get()) == 1;
  ERR_clear_error();
  return isItsKey ? Status()
                  : Status::error(StatusCode::InvalidInput,
                                  "a key is not its certificate's", from.key,
                                  from.certificate + " was made for another",
                                  "give the two that belong together");
}

} // namespace dist::cluster
