//===- keyed.cpp - What only who has a key can say ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/security/keyed.h"
#include "runtime/cluster/security/crypto.h"
#include <cerrno>
#include <cstring>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <sys/random.h>

namespace dist::cluster {

Status makeRandomBytes(size_t count, std::string *out) {
  out->resize(count);
  // At most 256 bytes are given whole.
  for (size_t done = 0; done < count;) {
    ssize_t got = getrandom(out->data() + done, count - done, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return Status::error(StatusCode::Unavailable,
                           "the system has no random numbers", "",
                           std::strerror(errno));
    done += size_t(got);
  }
  return Status();
}

std::string authenticate(const std::string &key, const std::string &message) {
  unsigned char code[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  requireCrypto(HMAC(EVP_sha256(), key.data(), int(key.size()),
                     reinterpret_cast<const unsigned char *>(message.data()),
                     message.size(), code, &size) != nullptr);
  return {reinterpret_cast<char *>(code), size};
}

bool areEqual(const std::string &a, const std::string &b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string deriveKey(const std::string &secret, const std::string &purpose,
                      size_t bytes) {
  static const std::string salt = "dist-mlir job 1";
  Owned<EVP_KDF, EVP_KDF_free> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  Owned<EVP_KDF_CTX, EVP_KDF_CTX_free> context(EVP_KDF_CTX_new(kdf.get()));
  auto octets = [](const char *name, const std::string &value) {
    return OSSL_PARAM_construct_octet_string(
        name, const_cast<char *>(value.data()), value.size());
  };
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      octets(OSSL_KDF_PARAM_KEY, secret), octets(OSSL_KDF_PARAM_SALT, salt),
      octets(OSSL_KDF_PARAM_INFO, purpose), OSSL_PARAM_construct_end()};
  std::string key(bytes, '\0');
  requireCrypto(context &&
                EVP_KDF_derive(context.get(),
                               reinterpret_cast<unsigned char *>(key.data()),
                               key.size(), parameters) == 1);
  return key;
}

} // namespace dist::cluster
