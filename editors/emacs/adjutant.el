;;; adjutant.el --- Adjutant through eglot, in Emacs 29 and newer  -*- lexical-binding: t -*-

;; Load this file from init.el, then M-x eglot in a buffer, or let a hook do it.
;; What is asked and done, the server decides.

(require 'eglot)
;; A question may have twelve lines, because the minibuffer grows for it (below).
(add-to-list 'eglot-server-programs
             '((text-mode markdown-mode prog-mode)
               . ("adjutant" "lsp" :initializationOptions (:asks (:popup_lines 12)))))

(cl-defmethod eglot-handle-request :around (_server (_method (eql window/showMessageRequest)) &rest _)
  "Let the minibuffer grow, so that all of what is asked can be seen."
  (let ((max-mini-window-height 0.9) (resize-mini-windows t))
    (cl-call-next-method)))

(cl-defmethod eglot-handle-request :after (server (_method (eql workspace/applyEdit)) &rest _)
  "Let the server see its edit at once; eglot would wait until Emacs is idle."
  (dolist (buffer (eglot--managed-buffers server))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer (eglot--signal-textDocument/didChange)))))

;; The server asks before it edits; asking here again, in a diff, would ask twice.
(setq eglot-confirm-server-edits nil)

(defun adjutant (text)
  "Give Adjutant a task, with the present file and selection."
  (interactive "sAdjutant: ")
  (let ((server (eglot-current-server)))
    (unless server (user-error "Run M-x eglot in a buffer of the project first"))
    (eglot-execute server
                   `(:command "adjutant.start"
                     :arguments [(:text ,text
                                  :uri ,(eglot-path-to-uri (buffer-file-name))
                                  :range (:start ,(eglot--pos-to-lsp-position (if (use-region-p) (region-beginning) (point)))
                                          :end ,(eglot--pos-to-lsp-position (if (use-region-p) (region-end) (point)))))]))))

(defun adjutant-cancel ()
  "Stop what Adjutant does."
  (interactive)
  (eglot-execute (eglot-current-server) '(:command "adjutant.cancel" :arguments [])))

(provide 'adjutant)
