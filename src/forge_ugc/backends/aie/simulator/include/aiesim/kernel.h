// kernel: a handle of a kernel instance, made from a function or a class.
#pragma once

#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aiesim/arguments.h"

namespace aiesim {

inline Place place_of(const std::source_location& at) { return {at.file_name(), at.line()}; }

template <class Argument>
void add_port(KernelNode& node, Argument& argument) {
  PortNode* port = new_port(Argument::direction);
  port->kernel = &node;
  argument.describe(*port);
  auto& list = Argument::direction == adf::direction::in    ? node.inputs
               : Argument::direction == adf::direction::out ? node.outputs
                                                            : node.inouts;
  port->number = static_cast<unsigned>(list.size());
  list.push_back(port);
}

template <class Result, class... Args>
class FunctionInvoker final : public Invoker {
 public:
  using Function = Result (*)(Args...);
  explicit FunctionInvoker(Function function) : function_(function) {}

  void describe(KernelNode& node) override {
    std::apply([&](auto&... a) { (add_port(node, a), ...); }, arguments_);
  }
  void invoke(void* function) override {
    auto call = function == nullptr ? function_ : reinterpret_cast<Function>(function);
    std::apply([&](auto&... a) { call(a.get()...); }, arguments_);
  }
  const void* function() const noexcept override {
    return reinterpret_cast<const void*>(function_);
  }

 private:
  Function function_;
  std::tuple<Argument<Args>...> arguments_;
};

// Makes the object of a kernel class.
class Factory {
 public:
  virtual ~Factory() = default;
  virtual void* make() = 0;
};

// Set by create_object around registerKernelClass, filled by REGISTER_FUNCTION.
struct Registration {
  Factory* factory = nullptr;
  std::unique_ptr<Invoker> invoker;
};
Registration*& registration() noexcept;

// Constructor arguments: a vector also converts to a reference of an array of its elements.
template <class V>
class Kept {
 public:
  explicit Kept(V value) : value_(std::move(value)) {}
  V& get() noexcept { return value_; }

 private:
  V value_;
};

template <class E, class A>
class Kept<std::vector<E, A>> {
 public:
  explicit Kept(const std::vector<E, A>& value) : value_(value) {}

  struct AnyArray {
    std::vector<E, A>& value;
    template <class U, std::size_t N>
    using Reference = U (&)[N];
    template <class U, std::size_t N>
      requires(std::is_same_v<std::remove_const_t<U>, E>)
    operator Reference<U, N>() const {
      if (value.size() != N) {
        reject("a kernel class takes an array of " + std::to_string(N) + " elements, but " +
                   std::to_string(value.size()) + " were given to create_object",
               {});
      }
      return reinterpret_cast<U(&)[N]>(*value.data());
    }
  };
  AnyArray get() noexcept { return {value_}; }
  std::vector<E, A>& vector() noexcept { return value_; }

 private:
  std::vector<E, A> value_;
};

template <class T, class... Args>
class ObjectFactory final : public Factory {
 public:
  explicit ObjectFactory(const Args&... args) : args_(args...) {}
  void* make() override {
    return std::apply(
        [](auto&... kept) {
          if constexpr (std::is_constructible_v<T, Args&...>) {
            return new T(plain(kept)...);
          } else {
            return new T(kept.get()...);
          }
        },
        args_);
  }

 private:
  template <class V>
  static auto& plain(Kept<V>& kept) {
    if constexpr (requires { kept.vector(); }) {
      return kept.vector();
    } else {
      return kept.get();
    }
  }
  std::tuple<Kept<Args>...> args_;
};

// T is the class that declares the method: the kernel's class or a base of it at its beginning.
template <class T, class Result, class... Args>
class MethodInvoker final : public Invoker {
 public:
  using Method = Result (T::*)(Args...);
  MethodInvoker(Method method, Factory* factory) : method_(method), factory_(factory) {}

  void describe(KernelNode& node) override {
    std::apply([&](auto&... a) { (add_port(node, a), ...); }, arguments_);
  }
  void construct() override { object_ = static_cast<T*>(factory_->make()); }
  void invoke(void*) override {
    std::apply([&](auto&... a) { (object_->*method_)(a.get()...); }, arguments_);
  }
  const void* function() const noexcept override {
    const void* address = nullptr;  // of a method that is not virtual
    __builtin_memcpy(&address, &method_, sizeof(address));
    return address;
  }

 private:
  Method method_;
  Factory* factory_;
  T* object_ = nullptr;
  std::tuple<Argument<Args>...> arguments_;
};

template <class T, class Result, class... Args>
void register_method(Result (T::*method)(Args...)) {
  Registration* now = registration();
  if (now == nullptr) return;
  now->invoker = std::make_unique<MethodInvoker<T, Result, Args...>>(method, now->factory);
}

}  // namespace aiesim

#define REGISTER_FUNCTION(...) ::aiesim::register_method(&__VA_ARGS__)
#define REGISTER_PARAMETER(...) static_cast<void>(0)
#define REGISTER_PROFILE(...) static_cast<void>(0)

namespace adf {

// A list of ports that the signature of a kernel decides.
template <direction D>
class port;
template <direction D>
class port_list;

}  // namespace adf
